import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { JsonText } from '../../../shared/chat/json-text.ts';
import { type AnswerBytes, type OpenedAnswer, openAnswer } from './upstream-bytes.ts';
import type { UpstreamRefusal } from './upstream-refusal.ts';
import { boundedText, MOST_ANSWER_BYTES, MOST_REFUSAL_BYTES } from './upstream-text.ts';

export type UpstreamConnection = {
  readonly apiKey: string | undefined;
  /** ms until a connection stands */
  readonly connectTimeoutMs: number;
  /** ms from the request to the first byte of the answer */
  readonly firstByteTimeoutMs: number;
  /** ms between two parts of an answer */
  readonly idleTimeoutMs: number;
};

export type AskedAnswer =
  | { readonly kind: 'answer'; readonly bytes: AnswerBytes }
  | { readonly kind: 'refused'; readonly refusal: UpstreamRefusal };

/** Connections to one server, kept and used again. */
export type UpstreamHttp = {
  /**
   * Asks for an answer that comes in parts. Where no connection could be made, nothing was sent: it is tried
   * again, twice. After that it never is: the server may have begun.
   */
  readonly ask: (address: string, json: JsonText, signal: AbortSignal) => Promise<AskedAnswer>;
  /**
   * A short question, whole; a body makes it a POST. Rejects where the server cannot be reached in time, or
   * does not come to an end.
   */
  readonly call: (
    address: string,
    limitMs: number,
    body?: object,
  ) => Promise<{ readonly status: number; readonly text: string }>;
  readonly close: () => Promise<void>;
};

/** Below the 5 s after which uvicorn closes one that is not used: no request meets a closing connection. */
const KEEP_ALIVE_MS = 4_000;
/** before it is tried again to connect */
const WAITS_MS = [100, 400];
/** ms that answers which are open at the end may take to end */
const CLOSE_LIMIT_MS = 500;

export function openUpstreamHttp(connection: UpstreamConnection): UpstreamHttp {
  const { apiKey, connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = connection;
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: firstByteTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  const headersFor = (accept: string) => ({
    'content-type': 'application/json',
    accept,
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  });
  const post = async (
    address: string,
    body: JsonText,
    signal: AbortSignal,
    [wait, ...waits]: readonly number[] = WAITS_MS,
  ): Promise<OpenedAnswer> => {
    const headers = headersFor('text/event-stream');
    try {
      return await openAnswer(agent, address, { method: 'POST', headers, body, signal });
    } catch (error) {
      if (signal.aborted || wait === undefined || !wasNotSent(error)) throw error;
      await delay(wait, undefined, { signal });
      return post(address, body, signal, waits);
    }
  };
  return {
    ask: async (address, json, signal) => {
      const { status, headers, bytes } = await post(address, json, signal);
      if (status === 200) return { kind: 'answer', bytes };
      const retryAfter = Number(headers['retry-after']);
      const retryAfterSeconds = retryAfter > 0 ? Math.ceil(retryAfter) : undefined;
      const { text } = await boundedText(bytes, MOST_REFUSAL_BYTES);
      return { kind: 'refused', refusal: { status, text, retryAfterSeconds } };
    },
    call: async (address, limitMs, body) => {
      const { status, bytes } = await openAnswer(agent, address, {
        method: body === undefined ? 'GET' : 'POST',
        headers: headersFor('application/json'),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(limitMs),
      });
      const { text, isWhole } = await boundedText(bytes, MOST_ANSWER_BYTES);
      if (!isWhole) throw new Error(`${address} answers with more than ${MOST_ANSWER_BYTES} bytes`);
      return { status, text };
    },
    close: async () => {
      await Promise.race([agent.close(), delay(CLOSE_LIMIT_MS, undefined, { ref: false })]);
      await agent.destroy();
    },
  };
}

const unsent = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A connection that was kept and is closed meanwhile is no such case: undici takes another by itself. */
function wasNotSent(error: unknown): boolean {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  return unsent.has(code) || syscall === 'connect';
}
