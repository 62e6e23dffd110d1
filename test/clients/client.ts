import type { Spawned } from './child.ts';
import type { Package } from './install.ts';
import type { Step } from './steps.ts';
import type { Api } from './upstream/asked.ts';

export const clientNames = [
  'codex',
  'claude-code',
  'opencode',
  'aider',
  'qwen-code',
  'cline',
  'continue',
  'kilo',
] as const;
export type ClientName = (typeof clientNames)[number];

/** An agent program that people use, and how it is driven without a person. */
export type Client = {
  readonly name: ClientName;
  readonly title: string;
  readonly api: Api;
  readonly package: Package;
  /** how it is driven, for the docs */
  readonly driven: string;
  /** how a person puts it before ClawLoop, for the docs: a command, or lines of a settings file */
  readonly connect: string;
  /** what cannot be tried, or is known of it; for the docs */
  readonly limits: readonly string[];
  /** after it a compaction leaves no answer in the history, so that what is said next follows none */
  readonly losesNextOf?: Step;
  readonly open: (place: Place) => Promise<Conversation>;
};

export type Place = Spawned & {
  /** an empty home of its own */
  readonly home: string;
  /** of the server, without /v1 */
  readonly url: string;
};

/** One conversation of one program. */
export type Conversation = {
  /** @returns what the program shows as the answer @throws where it shows an error */
  readonly say: (words: string) => Promise<string>;
  /** As a person asks for it. Absent where the program has no such command without a person. */
  readonly compact?: () => Promise<void>;
  /** Ends the process. What is said next goes on with the conversation in another one. */
  readonly resume: () => Promise<void>;
  /** Says something, and stops the answer once it has begun. */
  readonly stop: (words: string, begun: () => Promise<unknown>) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** A key that the server does not ask for; programs insist on one. */
export const KEY = 'no-key';
