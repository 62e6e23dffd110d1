import { contentText, isHuman } from '../../shared/chat/message.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';

/** A request that OpenClaw sends to its model, and how the exchange ended. */
export type OpenClawRequest = {
  /** ISO 8601 */
  readonly time: string;
  /** dropped: the server closed the connection instead of answering */
  readonly outcome: 'answered' | 'dropped';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly messages: readonly ChatMessage[];
    readonly tools?: readonly unknown[] | undefined;
    readonly [field: string]: unknown;
  };
};

export const scenarioNames = [
  /** one turn with the default settings: the longest system prompt */
  'first-turn',
  /** a turn that runs the same command twice */
  'tool-loop',
  /** a tool loop outgrows the context and is killed; three more turns follow on a history that was cut */
  'cut-history',
  /** one turn in several attempts, because the server drops every connection */
  'retries',
  /** a parent's call, its answer, the child's turn, and the announcement in the parent's session */
  'subagent',
  /** one turn with the official Qwen plugin, which sends content as parts */
  'qwen-plugin',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export type OpenClawScenario = {
  /** session id of the person's conversation, as the `Runtime:` line names it */
  readonly session: string;
  /** session id of the subagent, where there is one */
  readonly childSession?: string | undefined;
  readonly requests: readonly OpenClawRequest[];
};

export type OpenClawRequests = Readonly<Record<ScenarioName, OpenClawScenario>>;

/** OpenClaw tries again for a minute and a half: eight times on an idle machine, fewer on a busy one. */
export const FEWEST_TRIES = 5;

/** The command that the tool loop runs, and what it prints. */
export const loopCommand = { command: 'echo tool-ran-ok', output: 'tool-ran-ok' };

/** What a person says in each scenario. No two conversations begin alike. */
export const said = {
  'first-turn': ['Hello there, my favourite colour is teal.'],
  'tool-loop': ['Good morning, I need a command run.', 'Please run the echo command now.'],
  'cut-history': [
    'Please read the whole list, piece by piece.',
    'What is my favourite colour?',
    'Another question about colours.',
    'And one more about the garden.',
  ],
  retries: ['Please greet my neighbours for me.'],
  subagent: ['Please let a helper count to three.'],
  'qwen-plugin': ['Which bread keeps longest?'],
} as const satisfies Readonly<Record<ScenarioName, readonly string[]>>;

/** Index of the first request after OpenClaw cut the history. @throws Error where no request shows a cut */
export function cutIndex({ requests }: OpenClawScenario): number {
  const index = requests.findIndex(({ body }) => {
    const first = body.messages.find(isHuman);
    return first !== undefined && contentText(first.content).includes('(session bootstrap)');
  });
  if (index < 1) throw new Error('no request shows a history that was cut');
  return index;
}

/** What a request was answered with, as the next request of its scenario shows it. */
export function answerShown(requests: readonly OpenClawRequest[], index: number): ChatMessage | undefined {
  const position = requests[index]!.body.messages.length - 1; // OpenClaw never keeps its own last message
  const answer = requests[index + 1]?.body.messages[position];
  return answer?.role === 'assistant' ? answer : undefined;
}
