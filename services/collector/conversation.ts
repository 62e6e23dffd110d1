import { createHash } from 'node:crypto';
import { type ChatMessage, contentText, isHuman, isInternalContext } from '../../shared/chat/message.ts';
import { normalisedSystemText, userWords } from '../../shared/chat/normalise.ts';
import { nextHash, rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { isEvidence } from './automated.ts';
import { runtimeSession } from './runtime-session.ts';
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
  readonly prompt: string;
  readonly full: string;
  readonly answers: readonly AnswerInHistory[];
  /** session id that an OpenClaw client writes into its first message or its system text */
  readonly runtimeSession: string | undefined;
  readonly systemText: string;
  readonly systemSketch: SystemSketch;
  /**
   * words of the first and of the latest user message that is not internal context; '' where there is none
   */
  readonly firstWords: string;
  readonly latestWords: string;
  /** user words or tool results after the last answer */
  readonly saysSomething: boolean;
  readonly traceId: string | undefined;
};

export function readConversation({ data, traceparent }: InteractionCompleted): Conversation {
  const { messages } = data;
  const hashes = rollingHashes(messages);
  const prompt = hashes.at(-1) ?? '';
  const answers = answersIn(messages, hashes);
  const human = messages.filter(isHuman);
  const systemText = normalisedSystemText(messages);
  const sinceAnswer = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1);
  return {
    prompt,
    full: nextHash(prompt, data.answer),
    answers,
    runtimeSession: runtimeSession(messages),
    systemText,
    systemSketch: systemSketch(systemText),
    firstWords: human[0] === undefined ? '' : userWords(human[0]),
    latestWords: human.at(-1) === undefined ? '' : userWords(human.at(-1)!),
    saysSomething: sinceAnswer.some(isEvidence),
    traceId: traceparent?.split('-')[1],
  };
}

function answersIn(messages: readonly ChatMessage[], hashes: readonly string[]): readonly AnswerInHistory[] {
  const places = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  return places.map((index, i) => {
    const end = places[i + 1] ?? messages.length;
    const told = messages.slice(index + 1, end).some(isEvidence);
    return { full: hashes[index]!, start: index + 1, end, after: hashes[end - 1]!, told };
  });
}

/** The next state as judges see it: what a client says by itself is left out. */
export const evidenceIn = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.filter((message) => !isInternalContext(message) && isEvidence(message));

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

export const answerText = ({ answer }: InteractionCompleted['data']): string => contentText(answer.content);
