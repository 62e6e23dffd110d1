import { createParser } from 'eventsource-parser';
import type { AnswerChunk } from '../../generation.ts';
import type { AnswerBytes } from './bytes.ts';
import type { ChoiceChunk } from './exchange.ts';

/**
 * Characters of one event, and of one answer. SGLang repeats the whole answer in each event: 32,000 tokens with
 * 20 alternatives each take 25 million characters.
 */
const MOST_EVENT_CHARACTERS = 32 * 2 ** 20;

/** Bytes after `[DONE]` to read before the connection is closed instead of reused. */
const MOST_AFTER_END = 64 * 2 ** 10;

type Listener = {
  /** The chunks of an event. */
  readonly read: (data: string) => readonly ChoiceChunk[];
  readonly show: (chunk: ChoiceChunk) => void;
  /** Called after every event: if true, the request ends at once. */
  readonly isEnough: () => boolean;
};

/**
 * Reads the server-sent events of an answer up to `[DONE]`. Texts that arrive together are shown together. Bytes
 * after `[DONE]` are discarded, up to a limit: the connection can be reused only when the answer has ended.
 * Rejects with the error of `read`, with the error of the connection, or if an event or the whole answer has more
 * than `most` characters.
 */
export function readEvents(
  answer: AnswerBytes,
  { read, show, isEnough }: Listener,
  most = MOST_EVENT_CHARACTERS,
): Promise<void> {
  const decoder = new TextDecoder();
  return new Promise((resolve, reject) => {
    let isDone = false;
    let bytesAfterEnd = 0;
    let characters = 0;
    let chunks: ChoiceChunk[] = [];
    const parser = createParser({
      maxBufferSize: most,
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded')
          throw new Error(`an event of its answer has more than ${most} characters`);
      },
      onEvent: ({ data }) => {
        isDone ||= data === '[DONE]';
        if (isDone) return;
        const added = read(data);
        chunks.push(...added);
        for (const { chunk } of added) characters += sizeOf(chunk);
        if (characters > most) throw new Error(`its answer has more than ${most} characters`);
        if (!isEnough()) return;
        isDone = true;
        answer.stop();
      },
    });
    const feed = (bytes: Uint8Array) => {
      try {
        parser.feed(decoder.decode(bytes, { stream: true }));
      } finally {
        joinTexts(chunks).forEach(show);
        chunks = [];
      }
    };
    const onBytes = (bytes: Uint8Array) => {
      if (isDone) {
        bytesAfterEnd += bytes.length;
        if (bytesAfterEnd > MOST_AFTER_END) answer.stop();
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
    answer.listen({ onBytes, onEnd: resolve, onBreak: reject });
  });
}

/** Approximate characters; each shown token counts as one. */
const sizeOf = ({ text, reasoning = '', callParts = [], tokens }: AnswerChunk): number =>
  callParts.reduce(
    (sum, part) => sum + part.arguments.length,
    text.length + reasoning.length + tokens.length,
  );

const isTextAlone = ({ tokens, reasoning, toolCalls, callParts }: AnswerChunk): boolean =>
  tokens.length === 0 && reasoning === undefined && toolCalls === undefined && callParts === undefined;

/** Joins the texts of adjacent chunks, so that a client behind the engine catches up in one step. */
function joinTexts(chunks: readonly ChoiceChunk[]): readonly ChoiceChunk[] {
  const joined: ChoiceChunk[] = [];
  for (const next of chunks) {
    const last = joined.at(-1);
    const isMore = last?.choice === next.choice && isTextAlone(last.chunk) && isTextAlone(next.chunk);
    if (!isMore) joined.push(next);
    else
      joined[joined.length - 1] = { ...next, chunk: { text: last.chunk.text + next.chunk.text, tokens: [] } };
  }
  return joined;
}
