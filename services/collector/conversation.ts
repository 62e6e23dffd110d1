import { createHash } from 'node:crypto';
import { spokenMessages } from '../../shared/chat/client-blocks.ts';
import { placeInTree, type TreePlace } from '../../shared/chat/conversation-tree.ts';
import { type ChatMessage, contentText, isHuman, isInternalContext } from '../../shared/chat/message.ts';
import { normalisedSystemText, normaliseMessage, userWords } from '../../shared/chat/normalise.ts';
import { emptyConversation, nextHash, rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { type AutomatedKind, automatedKind, isEvidence } from './automated.ts';
import { type HelperKind, helperKind } from './helper-prompts.ts';
import { type RuntimeLine, readRuntimeLine } from './runtime-session.ts';
import { type SystemSketch, systemSketch } from './system-sketch.ts';

/** An answer inside a request's history, and the messages after it up to the next answer. */
export type AnswerInHistory = {
  /** rolling hash after the answer */
  readonly full: string;
  /** what came next, indices into messages: [start, end) */
  readonly start: number;
  readonly end: number;
  /** rolling hash after it */
  readonly after: string;
  /** user words or tool results are among it */
  readonly told: boolean;
};

/** What a request says about where it belongs. Hashes and positions, no text but what the rules read. */
export type Conversation = {
  /** as they were said: see spokenMessages */
  readonly messages: readonly ChatMessage[];
  readonly prompt: string;
  readonly full: string;
  readonly place: TreePlace;
  readonly answers: readonly AnswerInHistory[];
  /** what an OpenClaw client writes into its first message or its system text */
  readonly runtime: RuntimeLine;
  /**
   * of the last answer alone, where the client cut the history before it, so that no rolling hash is what it
   * was
   */
  readonly answerAfterCut: string | undefined;
  /** the same of a client that names its session in a `Runtime:` line, whatever it did to its history */
  readonly namedAnswer: string | undefined;
  /** another agent spoke, not a person */
  readonly isOfAgent: boolean;
  readonly systemText: string;
  readonly systemSketch: SystemSketch;
  /**
   * words of the first and of the latest user message that is not internal context; '' where there is none
   */
  readonly firstWords: string;
  readonly latestWords: string;
  /** what program wrote them, if one did */
  readonly firstKind: AutomatedKind | undefined;
  readonly latestKind: AutomatedKind | undefined;
  /** what a program asks for itself; undefined: nothing that is known, or `clients` is off */
  readonly helper: HelperKind | undefined;
  /** each answer of the history alone, the latest first; [] where `clients` is off */
  readonly answersAlone: readonly string[];
  /** words that stand for the messages which a compaction left out; undefined: there are none */
  readonly summary: string | undefined;
  /** user words or tool results after the last answer */
  readonly saysSomething: boolean;
  /** nothing but results of calls after the last answer */
  readonly answersCalls: boolean;
  readonly traceId: string | undefined;
};

/** @param clients the marks and prompts of agent programs beside OpenClaw are known */
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
    answerAfterCut: isCut(firstKind) ? lastAnswer : undefined,
    namedAnswer: runtime.session === undefined ? undefined : lastAnswer,
    isOfAgent: sinceAnswer.some(tellsOfAgent),
    systemText,
    systemSketch: systemSketch(systemText),
    firstWords,
    latestWords,
    firstKind,
    latestKind: automatedKind(latestWords, clients),
    helper: clients ? helperKind(systemText, latestWords) : undefined,
    answersAlone: clients ? answersAlone(messages) : [],
    summary: summaryIn(messages, clients),
    saysSomething: sinceAnswer.some((message) => isEvidence(message, clients)),
    answersCalls: sinceAnswer.length > 0 && sinceAnswer.every(({ role }) => role === 'tool'),
    traceId: traceparent?.split('-')[1],
  };
}

/** What OpenClaw says beside the words when they are those of another agent (`sessions_send`). */
const tellsOfAgent = (message: ChatMessage): boolean =>
  isInternalContext(message) && contentText(message.content).includes('[Inter-session message]');

/** Whether a history begins with what stands for the messages that the client left out. */
const isCut = (kind: AutomatedKind | undefined): boolean =>
  kind === 'compaction-summary' || kind === 'bootstrap';

function summaryIn(messages: readonly ChatMessage[], clients: boolean): string | undefined {
  const human = messages.filter(isHuman).map(userWords);
  // OpenClaw's stands first
  return (clients ? human : human.slice(0, 1)).findLast(
    (words) => automatedKind(words, clients) === 'compaction-summary',
  );
}

/** How many answers of a history are looked at, from the latest back. */
const LOOK_BACK = 8;

const answersAlone = (messages: readonly ChatMessage[]): readonly string[] =>
  messages
    .filter(({ role }) => role === 'assistant')
    .slice(-LOOK_BACK)
    .toReversed()
    .flatMap((answer) => hashOfAnswer(answer) ?? []);

/** Characters of an answer and its calls below which it may well have been given more than once. */
const DISTINCT = 16;

/** One answer, whatever was said before it; undefined: it is too short to be known again by itself. */
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
    const told = messages.slice(index + 1, end).some((message) => isEvidence(message, clients));
    return { full: hashes[index]!, start: index + 1, end, after: hashes[end - 1]!, told };
  });
}

/** The next state as judges see it, out of a whole request: what a client says by itself is left out. */
export const evidenceIn = (
  messages: readonly ChatMessage[],
  { start, end }: { readonly start: number; readonly end: number },
  clients: boolean,
): readonly ChatMessage[] =>
  (clients ? spokenMessages(messages) : messages)
    .slice(start, end)
    .filter((message) => !isInternalContext(message) && isEvidence(message, clients));

export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 24);

/** One hash for the words of a summary, wherever they stand in a message: its first line of some length. */
export const summaryLines = (message: string): readonly string[] =>
  message
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.length >= 16)
    .slice(0, 64)
    .map(shortHash);

/** The same of what was said in a conversation, as a request for its summary or a recap repeats that. */
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

/** What a request for a recap shows: `role: words` of each message; [] where it cannot be read. */
function recapped(words: string): readonly string[] {
  try {
    const { messages } = JSON.parse(words) as { readonly messages?: unknown };
    return Array.isArray(messages) ? messages.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}

export const answerText = ({ answer }: InteractionCompleted['data']): string => contentText(answer.content);
