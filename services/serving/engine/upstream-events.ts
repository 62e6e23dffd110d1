import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import type { AnswerChunk } from './engine.ts';
import type { HeardChunk } from './upstream-exchange.ts';

type Listener = {
  /** What of an event can be shown. */
  readonly hear: (data: string) => readonly HeardChunk[];
  readonly show: (heard: HeardChunk) => void;
  /** Asked after every event: where no more is wanted, the request ends at once. */
  readonly isEnough: () => boolean;
};

/**
 * Hears the server-sent events of an answer up to `[DONE]`, as soon as they are here; texts that arrive
 * together are shown together. What comes after that mark is read to nowhere: the connection is kept for the
 * next request only when the answer has ended. Rejects with what `hear` throws, or with why the answer broke
 * off.
 */
export function hearEvents(
  body: Dispatcher.ResponseData['body'],
  { hear, show, isEnough }: Listener,
): Promise<void> {
  const decoder = new TextDecoder();
  return new Promise((resolve, reject) => {
    let isDone = false;
    let heard: HeardChunk[] = [];
    const parser = createParser({
      onEvent: ({ data }) => {
        isDone ||= data === '[DONE]';
        if (isDone) return;
        heard.push(...hear(data));
        if (!isEnough()) return;
        isDone = true;
        body.destroy();
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
    body.on('error', reject);
    body.on('end', resolve);
    body.on('data', (bytes: Uint8Array) => {
      if (isDone) return;
      try {
        feed(bytes);
        if (isDone) resolve();
      } catch (error) {
        isDone = true;
        reject(error);
        body.destroy();
      }
    });
  });
}

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
