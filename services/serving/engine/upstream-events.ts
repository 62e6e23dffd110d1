import { createParser } from 'eventsource-parser';
import type { AnswerChunk } from './engine.ts';
import type { AnswerBytes } from './upstream-bytes.ts';
import type { HeardChunk } from './upstream-exchange.ts';

/**
 * Characters of one event. SGLang repeats the whole answer in each: 32,000 tokens with 20 alternatives each are
 * 25 million. A line without end is held no further than this, and so is an answer.
 */
const MOST_EVENT_CHARACTERS = 32 * 2 ** 20;

/** Bytes that a connection is worth: what comes after the mark of the end, up to the end itself. */
const MOST_AFTER_END = 64 * 2 ** 10;

type Listener = {
  /** What of an event can be shown. */
  readonly hear: (data: string) => readonly HeardChunk[];
  readonly show: (heard: HeardChunk) => void;
  /** Asked after every event: where no more is wanted, the request ends at once. */
  readonly isEnough: () => boolean;
};

/**
 * Hears the server-sent events of an answer up to `[DONE]`, as soon as they are here; texts that arrive
 * together are shown together. What comes after that mark is read to nowhere, and not for ever: the connection
 * is kept for the next request only when the answer has ended. Rejects with what `hear` throws, or with why the
 * answer broke off; also where an event, or all that can be shown, has more than `most` characters.
 */
export function hearEvents(
  answer: AnswerBytes,
  { hear, show, isEnough }: Listener,
  most = MOST_EVENT_CHARACTERS,
): Promise<void> {
  const decoder = new TextDecoder();
  return new Promise((resolve, reject) => {
    let isDone = false;
    let after = 0;
    let told = 0;
    let heard: HeardChunk[] = [];
    const parser = createParser({
      maxBufferSize: most,
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded')
          throw new Error(`a part of its answer has more than ${most} characters`);
      },
      onEvent: ({ data }) => {
        isDone ||= data === '[DONE]';
        if (isDone) return;
        const now = hear(data);
        heard.push(...now);
        for (const { chunk } of now) told += sizeOf(chunk);
        if (told > most) throw new Error(`its answer has more than ${most} characters`);
        if (!isEnough()) return;
        isDone = true;
        answer.stop();
      },
    });
    const feed = (bytes: Uint8Array) => {
      try {
        parser.feed(decoder.decode(bytes, { stream: true }));
      } finally {
        joinTexts(heard).forEach(show);
        heard = [];
      }
    };
    const onBytes = (bytes: Uint8Array) => {
      if (isDone) {
        after += bytes.length;
        if (after > MOST_AFTER_END) answer.stop();
        return;
      }
      try {
        feed(bytes);
        if (isDone) resolve();
      } catch (error) {
        isDone = true;
        reject(error);
        answer.stop();
      }
    };
    answer.hear({ onBytes, onEnd: resolve, onBreak: reject });
  });
}

/** Characters, about: a token that is shown counts as one. */
const sizeOf = ({ text, reasoning = '', callParts = [], tokens }: AnswerChunk): number =>
  callParts.reduce(
    (sum, part) => sum + part.arguments.length,
    text.length + reasoning.length + tokens.length,
  );

const isTextAlone = ({ tokens, reasoning, toolCalls, callParts }: AnswerChunk): boolean =>
  tokens.length === 0 && reasoning === undefined && toolCalls === undefined && callParts === undefined;

/** An engine that is ahead of whoever listens is caught up with in one step instead of one per token. */
function joinTexts(heard: readonly HeardChunk[]): readonly HeardChunk[] {
  const joined: HeardChunk[] = [];
  for (const next of heard) {
    const last = joined.at(-1);
    const isMore = last?.choice === next.choice && isTextAlone(last.chunk) && isTextAlone(next.chunk);
    if (!isMore) joined.push(next);
    else
      joined[joined.length - 1] = { ...next, chunk: { text: last.chunk.text + next.chunk.text, tokens: [] } };
  }
  return joined;
}
