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
  /** how a person connects it to ClawLoop, for the docs: a command, or lines of a settings file */
  readonly connect: string;
  /** untested features and known limits, for the docs */
  readonly limits: readonly string[];
  /** after this step a compaction leaves no answer in the history, so the next words follow no answer */
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
  /** @returns the answer as the program shows it @throws if it shows an error */
  readonly say: (words: string) => Promise<string>;
  /** Compacts the history, by the program's own command. Absent if that command needs a terminal. */
  readonly compact?: () => Promise<void>;
  /** Ends the process. The next words continue the conversation in another process. */
  readonly resume: () => Promise<void>;
  /** Says something, and stops the answer once it has begun. */
  readonly stop: (words: string, begun: () => Promise<unknown>) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** A key that the server does not need; programs require one. */
export const KEY = 'no-key';
