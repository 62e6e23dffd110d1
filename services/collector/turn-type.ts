import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { AutomatedKind } from './automated.ts';
import type { Conversation } from './conversation.ts';
import type { HelperKind } from './helper-prompts.ts';
import type { RuntimeLine } from './runtime-session.ts';

export type TurnType = 'main' | 'side';

export type RequestView = {
  readonly explicit: InteractionCompleted['data']['turnType'];
  readonly conversation: Conversation;
  /** a program's request in a session that it opened for a reward */
  readonly isProgramReward: boolean;
  /** its session's main line never had a system text like this */
  readonly isOtherSystem: boolean;
  /** it contains only the results of tool calls of the main line */
  readonly answersMainCalls: boolean;
};

type Rule = {
  readonly name: string;
  readonly type: TurnType;
  readonly about: string;
  readonly matches: (view: RequestView) => boolean;
};

const system =
  (...beginnings: readonly string[]) =>
  ({ conversation }: RequestView) =>
    beginnings.some((beginning) => conversation.systemText.trimStart().startsWith(beginning));
const latest =
  (kind: AutomatedKind) =>
  ({ conversation }: RequestView) =>
    conversation.latestKind === kind;
const works =
  (kind: RuntimeLine['kind']) =>
  ({ conversation }: RequestView) =>
    conversation.runtime.kind === kind;
const asks =
  (...patterns: readonly RegExp[]) =>
  ({ conversation }: RequestView) =>
    patterns.some((pattern) => pattern.test(conversation.latestWords.slice(0, 2000)));
const helps =
  (kind: HelperKind) =>
  ({ conversation }: RequestView) =>
    conversation.helper === kind;
const any =
  (...tests: readonly Rule['matches'][]) =>
  (view: RequestView) =>
    tests.some((test) => test(view));

/** Side requests of common chat interfaces for a conversation's title, tags or follow-up questions. */
const titlePrompts = [
  /^#+ ?Task:\s*(Generate|Suggest) .{0,80}(title|tags|follow-up|queries)/is,
  /^(Please )?(generate|create|provide) an? [^.\n]{0,60}\btitle\b.{0,40}\b(the|this|our) (conversation|chat)\b/i,
];
/** Beginnings of clients' requests to shorten their own history. */
const summaryPrompts = [/^<conversation>/, /^Your task is to create a detailed summary of the conversation/];

/** First match wins; the order is the specification. The event names the matching rule. */
export const turnRules: readonly Rule[] = [
  {
    name: 'explicit-main',
    type: 'main',
    about: 'the client declared it main',
    matches: ({ explicit }) => explicit === 'main',
  },
  {
    name: 'explicit-side',
    type: 'side',
    about: 'the client declared it side',
    matches: ({ explicit }) => explicit !== undefined,
  },
  {
    // A program's prompts may read like a chat client's, and each of its agents may have its own system text.
    name: 'rewarded-session',
    type: 'main',
    about: 'the session has rewards: every request is main unless the program marks it as side',
    matches: ({ isProgramReward }) => isProgramReward,
  },
  {
    name: 'memory-flush',
    type: 'side',
    about: 'the client saves memories before it compacts the history',
    matches: any(works('memory-flush'), latest('memory-flush')),
  },
  {
    name: 'compaction',
    type: 'side',
    about: 'the client asks for a summary of the history',
    matches: any(
      system('You are a context summarization assistant'),
      asks(...summaryPrompts),
      helps('compaction'),
    ),
  },
  {
    name: 'recap',
    type: 'side',
    about: 'the client asks for a summary of recent activity',
    matches: system('Write an Activity recap'),
  },
  {
    name: 'title',
    type: 'side',
    about: 'the client asks for a title, tags or follow-up questions',
    matches: any(
      system('Generate a concise session title', 'Generate a very short topic label'),
      asks(...titlePrompts),
      helps('title'),
    ),
  },
  { name: 'heartbeat', type: 'side', about: 'a timer of the client sent it', matches: latest('heartbeat') },
  {
    name: 'cron',
    type: 'side',
    about: 'a scheduled job of the client sent it',
    matches: any(works('cron'), latest('cron')),
  },
  {
    name: 'subagent',
    type: 'side',
    about: 'another agent gave this agent its task',
    matches: any(works('subagent'), ({ conversation }) => conversation.firstKind === 'subagent'),
  },
  {
    name: 'announce',
    type: 'side',
    about: 'it announces the result of a background task',
    matches: latest('announce'),
  },
  {
    name: 'agent-message',
    type: 'side',
    about: 'another agent sent it, not a person',
    matches: ({ conversation }) => conversation.isFromAgent,
  },
  {
    name: 'repair',
    type: 'side',
    about: 'the client retries after an answer without visible text',
    matches: latest('repair'),
  },
  {
    name: 'session-start',
    type: 'side',
    about: 'the client begins a session before a person wrote anything',
    matches: latest('session-start'),
  },
  {
    name: 'probe',
    type: 'side',
    about: 'the client checks that the server answers',
    matches: any(latest('probe'), helps('probe')),
  },
  {
    name: 'next-speaker',
    type: 'side',
    about: 'the client asks whether the model or the person is next',
    matches: helps('next-speaker'),
  },
  {
    name: 'helper',
    type: 'side',
    about:
      'the client wants a commit message or a suggestion, or a long instruction asks for a title or summary of the conversation',
    matches: helps('helper'),
  },
  {
    name: 'safety-review',
    type: 'side',
    about: 'the client asks whether a command or page is safe before running it',
    matches: system("You are OpenClaw's exec safety reviewer", "You are OpenClaw's dashboard widget safety"),
  },
  {
    name: 'nothing-new',
    type: 'side',
    about: 'no user text and no tool result since the last answer',
    matches: ({ conversation }) => !conversation.hasNewEvidence,
  },
  {
    name: 'other-system',
    type: 'side',
    about: 'its system text is new in the session, and it does not answer calls of the main line',
    matches: ({ isOtherSystem, answersMainCalls }) => isOtherSystem && !answersMainCalls,
  },
  { name: 'conversation', type: 'main', about: 'none of the above', matches: () => true },
];

export function classifyTurn(view: RequestView): { readonly type: TurnType; readonly rule: string } {
  const { type, name } = turnRules.find((rule) => rule.matches(view))!;
  return { type, rule: name };
}
