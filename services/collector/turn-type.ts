import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { AutomatedKind } from './automated.ts';
import type { Conversation } from './conversation.ts';
import type { HelperKind } from './helper-prompts.ts';
import type { RuntimeLine } from './runtime-session.ts';

export type TurnType = 'main' | 'side';

export type RequestView = {
  readonly explicit: InteractionCompleted['data']['turnType'];
  readonly conversation: Conversation;
  /** a program asked, in a session that it opened for its reward */
  readonly isOfProgram: boolean;
  /** it belongs to a session whose main line never had a system text like its own */
  readonly isOtherSystem: boolean;
  /** it brings what the calls of an answer of the main line gave, and nothing else */
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

/**
 * Prompts of common chat interfaces for a conversation's title, tags or follow-up questions, asked beside it.
 */
const titlePrompts = [
  /^#+ ?Task:\s*(Generate|Suggest) .{0,80}(title|tags|follow-up|queries)/is,
  /^(Please )?(generate|create|provide) an? [^.\n]{0,60}\btitle\b.{0,40}\b(the|this|our) (conversation|chat)\b/i,
];
/** How clients begin when they want their own history shorter. */
const summaryPrompts = [/^<conversation>/, /^Your task is to create a detailed summary of the conversation/];

/** First match wins; the order is the specification. The winner's name stands in the event. */
export const turnRules: readonly Rule[] = [
  {
    name: 'explicit-main',
    type: 'main',
    about: 'the client said main',
    matches: ({ explicit }) => explicit === 'main',
  },
  {
    name: 'explicit-side',
    type: 'side',
    about: 'the client said side',
    matches: ({ explicit }) => explicit !== undefined,
  },
  {
    // a program's prompts may read like a chat client's, and its agents may have a system text each
    name: 'rewarded-session',
    type: 'main',
    about: 'its session is settled by reward: all is main there that the program does not call side',
    matches: ({ isOfProgram }) => isOfProgram,
  },
  {
    name: 'memory-flush',
    type: 'side',
    about: 'the client stores memories before it compacts the history',
    matches: any(works('memory-flush'), latest('memory-flush')),
  },
  {
    name: 'compaction',
    type: 'side',
    about: 'the client has its history summarised',
    matches: any(
      system('You are a context summarization assistant'),
      asks(...summaryPrompts),
      helps('compaction'),
    ),
  },
  {
    name: 'recap',
    type: 'side',
    about: 'the client has its activity summarised',
    matches: system('Write an Activity recap'),
  },
  {
    name: 'title',
    type: 'side',
    about: 'the client wants a title, tags or follow-up questions',
    matches: any(
      system('Generate a concise session title', 'Generate a very short topic label'),
      asks(...titlePrompts),
      helps('title'),
    ),
  },
  { name: 'heartbeat', type: 'side', about: 'a timer of the client spoke', matches: latest('heartbeat') },
  {
    name: 'cron',
    type: 'side',
    about: "a scheduled job of the client's spoke",
    matches: any(works('cron'), latest('cron')),
  },
  {
    name: 'subagent',
    type: 'side',
    about: 'an agent was given its task by another agent',
    matches: any(works('subagent'), ({ conversation }) => conversation.firstKind === 'subagent'),
  },
  {
    name: 'announce',
    type: 'side',
    about: "a background task's result was announced",
    matches: latest('announce'),
  },
  {
    name: 'agent-message',
    type: 'side',
    about: 'another agent spoke to this one, not a person',
    matches: ({ conversation }) => conversation.isOfAgent,
  },
  {
    name: 'repair',
    type: 'side',
    about: 'the client asks again after an answer without visible text',
    matches: latest('repair'),
  },
  {
    name: 'session-start',
    type: 'side',
    about: 'the client begins a session by itself, before anybody spoke',
    matches: latest('session-start'),
  },
  {
    name: 'probe',
    type: 'side',
    about: 'the client tries whether it is answered',
    matches: any(latest('probe'), helps('probe')),
  },
  {
    name: 'next-speaker',
    type: 'side',
    about: 'the client asks whether the model or the person speaks next',
    matches: helps('next-speaker'),
  },
  {
    name: 'helper',
    type: 'side',
    about:
      'the client asks for something of its own: a commit message, a suggestion, or by a long instruction a title or a summary of the conversation',
    matches: helps('helper'),
  },
  {
    name: 'safety-review',
    type: 'side',
    about: 'the client has a command or a page looked at before it runs',
    matches: system("You are OpenClaw's exec safety reviewer", "You are OpenClaw's dashboard widget safety"),
  },
  {
    name: 'nothing-new',
    type: 'side',
    about: 'no user words and no tool result since the last answer',
    matches: ({ conversation }) => !conversation.saysSomething,
  },
  {
    name: 'other-system',
    type: 'side',
    about: "its system text is none of the session's, and it does not go on from calls of the main line",
    matches: ({ isOtherSystem, answersMainCalls }) => isOtherSystem && !answersMainCalls,
  },
  { name: 'conversation', type: 'main', about: 'none of the above', matches: () => true },
];

export function classifyTurn(view: RequestView): { readonly type: TurnType; readonly rule: string } {
  const { type, name } = turnRules.find((rule) => rule.matches(view))!;
  return { type, rule: name };
}
