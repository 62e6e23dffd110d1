import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Asked } from './asked.ts';
import type { Reply } from './script.ts';

/** The input of an API's writer. */
export type Written = {
  readonly asked: Asked;
  readonly reply: Reply;
  /** counts requests from 1 */
  readonly n: number;
  readonly promptTokens: number;
  readonly stream: AnswerStream;
};

/** An answer that is being sent, word by word. */
export type AnswerStream = {
  readonly words: readonly string[];
  /** Number of words streamed so far. */
  readonly count: () => number;
  readonly data: (frame: object) => void;
  readonly event: (name: string, frame: object) => void;
  readonly whole: (body: object) => void;
  readonly end: (text?: string) => void;
  /** Waits between two words of a slow answer. Returns whether the client has left. */
  readonly isClosedAfterPause: () => Promise<boolean>;
};

/** ms between two words of an answer that the person stops */
const PAUSE_MS = 100;

export function answerStream(response: ServerResponse, { text, slow }: Reply): AnswerStream {
  const write = (frame: string): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame);
  };
  let count = 0;
  const words = text.match(/\S+\s*/g) ?? [];
  return {
    count: () => count,
    words,
    data: (frame) => write(`data: ${JSON.stringify(frame)}\n\n`),
    event: (name, frame) => write(`event: ${name}\ndata: ${JSON.stringify(frame)}\n\n`),
    whole: (body) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    end: (last = '') => void response.end(last),
    isClosedAfterPause: async () => {
      count += 1;
      if (slow) await delay(PAUSE_MS);
      return response.destroyed;
    },
  };
}
