import { spokenMessages } from '../../shared/chat/client-blocks.ts';
import { placeInTree, type TreePlace } from '../../shared/chat/conversation-tree.ts';
import { type ChatMessage, contentText, isHuman, isInternalContext } from '../../shared/chat/message.ts';
import { normalisedSystemText, normaliseMessage, userWords } from '../../shared/chat/normalise.ts';
import { emptyConversation, nextHash, rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { shortHash } from '../../shared/lang/short-hash.ts';
import { type AutomatedKind, automatedKind, isEvidence } from './automated.ts';
import { type HelperKind, helperKind } from './helper-prompts.ts';
import { type RuntimeLine, readRuntimeLine } from './runtime-session.ts';
import { type SystemSketch, systemSketch } from './system-sketch.ts';

/** An answer in a request's history, and the messages after it up to the next answer. */
type AnswerInHistory = {
  /** rolling hash after the answer */
  readonly full: string;
  /** its next state as indices into the messages: [start, end) */
  readonly start: number;
  readonly end: number;
  /** rolling hash after the next state */
  readonly after: string;
  /** the next state contains user words or tool results */
  readonly hasEvidence: boolean;
};

/** The parts of a request that determine where it belongs: hashes, positions, and the texts that the rules read. */
export type Conversation = {
  /** without client blocks if `clients` is on: see spokenMessages */
  readonly messages: readonly ChatMessage[];
  readonly prompt: string;
  readonly full: string;
  readonly place: TreePlace;
  readonly answers: readonly AnswerInHistory[];
  /** the `Runtime:` line that OpenClaw writes into its first message or system text */
  readonly runtime: RuntimeLine;
  /**
   * hash of the last answer alone, if the client cut the history before it, which changes all rolling hashes
   */
  readonly answerAfterCut: string | undefined;
  /** hash of the last answer alone, if a `Runtime:` line names the session, whatever happened to the history */
  readonly namedAnswer: string | undefined;
  /** hash of the last answer alone; undefined: it is too short, or there is none */
  readonly lastAnswer: string | undefined;
  /** another agent sent the latest message, not a person */
  readonly isFromAgent: boolean;
  readonly systemText: string;
  readonly systemSketch: SystemSketch;
  /** words of the first and the latest user message that is not internal context; '' if there is none */
  readonly firstWords: string;
  readonly latestWords: string;
  /** which kind of program wrote them; undefined: a person */
  readonly firstKind: AutomatedKind | undefined;
  readonly latestKind: AutomatedKind | undefined;
  /** kind of a program's request for its own purposes; undefined: not recognised, or `clients` is off */
  readonly helper: HelperKind | undefined;
  /** hash of each answer alone, latest first; [] if `clients` is off */
  readonly answersAlone: readonly string[];
  /** the summary that replaces messages removed by a compaction; undefined: there is none */
  readonly summary: string | undefined;
  /** user words or tool results after the last answer */
  readonly hasNewEvidence: boolean;
  /** only tool results follow the last answer */
  readonly answersCalls: boolean;
  readonly traceId: string | undefined;
};

/** @param clients recognise the marks and prompts of agent programs other than OpenClaw */
export function readConversation({ data, traceparent }: InteractionCompleted, clients = false): Conversation {
  const messages = clients ? spokenMessages(data.messages) : data.messages;
  const hashes = rollingHashes(messages);
  const prompt = hashes.at(-1) ?? '';
  const answers = answersIn(messages, hashes, clients);
  const human = messages.filter(isHuman);
  const systemText = normalisedSystemText(messages);
  const full = nextHash(prompt, data.answer);
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  const sinceAnswer = messages.slice(last + 1);
  const firstWords = human[0] === undefined ? '' : userWords(human[0]);
  const runtime = readRuntimeLine(messages);
  const lastAnswer = last === -1 ? undefined : hashOfAnswer(messages[last]!);
  const latestWords = human.at(-1) === undefined ? '' : userWords(human.at(-1)!);
  const firstKind = automatedKind(firstWords, clients);
  return {
    messages,
    prompt,
    full,
    place: placeInTree(messages, hashes, full, data.answer),
    answers,
    runtime,
    answerAfterCut: standsForHistory(firstKind) ? lastAnswer : undefined,
    namedAnswer: runtime.session === undefined ? undefined : lastAnswer,
    lastAnswer,
    isFromAgent: sinceAnswer.some(isAgentNotice),
    systemText,
    systemSketch: systemSketch(systemText),
    firstWords,
    latestWords,
    firstKind,
    latestKind: automatedKind(latestWords, clients),
    helper: clients ? helperKind(systemText, latestWords) : undefined,
    answersAlone: clients ? answersAlone(messages) : [],
    summary: summaryIn(messages, clients),
    hasNewEvidence: sinceAnswer.some((message) => isEvidence(message, clients)),
    answersCalls: sinceAnswer.length > 0 && sinceAnswer.every(({ role }) => role === 'tool'),
    traceId: traceparent?.split('-')[1],
  };
}

/** The internal context that OpenClaw adds to the words of another agent (`sessions_send`). */
const isAgentNotice = (message: ChatMessage): boolean =>
  isInternalContext(message) && contentText(message.content).includes('[Inter-session message]');

/** Whether the first message of a history replaces messages that the client removed. */
const standsForHistory = (kind: AutomatedKind | undefined): boolean =>
  kind === 'compaction-summary' || kind === 'bootstrap';

function summaryIn(messages: readonly ChatMessage[], clients: boolean): string | undefined {
  const human = messages.filter(isHuman).map(userWords);
  // OpenClaw's summary is the first message.
  return (clients ? human : human.slice(0, 1)).findLast(
    (words) => automatedKind(words, clients) === 'compaction-summary',
  );
}

/** Number of answers of a history that are compared, from the latest back. */
const LOOK_BACK = 8;

const answersAlone = (messages: readonly ChatMessage[]): readonly string[] =>
  messages
    .filter(({ role }) => role === 'assistant')
    .slice(-LOOK_BACK)
    .toReversed()
    .flatMap((answer) => hashOfAnswer(answer) ?? []);

/** Shorter answers, in characters including tool calls, are likely to occur more than once. */
const DISTINCT = 16;

/** Hash of one answer without its history; undefined: it is too short to be recognised alone. */
export function hashOfAnswer(answer: ChatMessage): string | undefined {
  const { text = '', calls = [] } = normaliseMessage(answer) ?? {};
  const size = text.length + JSON.stringify(calls).length;
  return size < DISTINCT ? undefined : nextHash(emptyConversation, answer);
}

function answersIn(
  messages: readonly ChatMessage[],
  hashes: readonly string[],
  clients: boolean,
): readonly AnswerInHistory[] {
  const places = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  return places.map((index, i) => {
    const end = places[i + 1] ?? messages.length;
    const hasEvidence = messages.slice(index + 1, end).some((message) => isEvidence(message, clients));
    return { full: hashes[index]!, start: index + 1, end, after: hashes[end - 1]!, hasEvidence };
  });
}

/** The next state as judges see it, without the messages that the client generated itself. */
export const evidenceIn = (
  messages: readonly ChatMessage[],
  { start, end }: { readonly start: number; readonly end: number },
  clients: boolean,
): readonly ChatMessage[] =>
  (clients ? spokenMessages(messages) : messages)
    .slice(start, end)
    .filter((message) => !isInternalContext(message) && isEvidence(message, clients));

/** Hashes of the longer lines of a message, by which a summary is recognised wherever it stands. */
export const summaryLines = (message: string): readonly string[] =>
  message
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.length >= 16)
    .slice(0, 64)
    .map(shortHash);

/** The line hashes of the conversation that a request for a summary or recap repeats. */
export const summarisedWords = (words: string): readonly string[] =>
  /^(?:Here is the conversation so far:\s+)?<conversation>/.test(words)
    ? summaryLines(linesAfter(['[User]: ', '[Assistant]: '], words.split('\n')))
    : words.startsWith('{"previousRecap":')
      ? summaryLines(linesAfter(['user: ', 'assistant: '], recapped(words)))
      : /^# (?:USER|ASSISTANT)\n/.test(words) // aider
        ? summaryLines(words)
        : [];

const linesAfter = (marks: readonly string[], lines: readonly string[]): string =>
  lines
    .flatMap((line) => marks.filter((mark) => line.startsWith(mark)).map((mark) => line.slice(mark.length)))
    .join('\n');

/** The messages in a request for a recap, each as `role: words`; [] if it is not valid JSON. */
function recapped(words: string): readonly string[] {
  try {
    const { messages } = JSON.parse(words) as { readonly messages?: unknown };
    return Array.isArray(messages) ? messages.filter((message) => typeof message === 'string') : [];
  } catch {
    return [];
  }
}

export const answerText = ({ answer }: InteractionCompleted['data']): string => contentText(answer.content);
