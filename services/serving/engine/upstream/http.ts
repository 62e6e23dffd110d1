import { Agent } from 'undici';
import type { JsonText } from '../../../../shared/chat/json-text.ts';
import { retry, withDeadline } from '../../../../shared/lang/async.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { type AnswerBytes, type OpenedAnswer, openAnswer } from './bytes.ts';
import type { UpstreamRefusal } from './refusal.ts';

type UpstreamConnection = {
  readonly apiKey: string | undefined;
  /** ms to establish a connection */
  readonly connectTimeoutMs: number;
  /** ms from the request to the first byte of the answer */
  readonly firstByteTimeoutMs: number;
  /** ms between two parts of an answer */
  readonly idleTimeoutMs: number;
};

type PostedAnswer =
  | { readonly kind: 'answer'; readonly bytes: AnswerBytes }
  | { readonly kind: 'refused'; readonly refusal: UpstreamRefusal };

/** A pool of connections to one server. */
export type UpstreamHttp = {
  /**
   * Requests a streamed answer. Retried twice if no connection could be made, since nothing was sent. Never
   * retried later: the server may have begun.
   */
  readonly post: (
    address: string,
    json: JsonText,
    signal: AbortSignal,
    traceparent?: string,
  ) => Promise<PostedAnswer>;
  /**
   * A short call; a POST if it has a body. Rejects if the server cannot be reached in time, or its answer is too
   * long.
   */
  readonly call: (
    address: string,
    limitMs: number,
    body?: object,
  ) => Promise<{ readonly status: number; readonly text: string }>;
  readonly close: () => Promise<void>;
};

/** Below the 5 s after which uvicorn closes idle connections, so that no request meets a closing connection. */
const KEEP_ALIVE_MS = 4_000;
/** ms before each retry to connect */
const WAITS_MS = [100, 400];
/** ms for open answers to end on close */
const CLOSE_LIMIT_MS = 500;
/** Limit of a short answer: vLLM's /tokenize lists the tokens of a prompt, about 8 bytes each. */
const MOST_ANSWER_BYTES = 32 * 2 ** 20;
/** Limit of an error response, which may repeat the request. */
const MOST_REFUSAL_BYTES = 64 * 2 ** 10;

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
    ...defined({ authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}` }),
  });
  const postWithRetries: (...given: Parameters<UpstreamHttp['post']>) => Promise<OpenedAnswer> = (
    address,
    body,
    signal,
    traceparent,
  ) => {
    const headers = { ...headersFor('text/event-stream'), ...defined({ traceparent }) };
    const onFailure = (error: unknown) => {
      if (!wasNotSent(error)) throw error;
    };
    return retry(() => openAnswer(agent, address, { method: 'POST', headers, body, signal }), {
      waits: WAITS_MS,
      onFailure,
      signal,
    });
  };
  return {
    post: async (...given) => {
      const { status, headers, bytes } = await postWithRetries(...given);
      if (status === 200) return { kind: 'answer', bytes };
      const retryAfter = Number(headers['retry-after']);
      const retryAfterSeconds = retryAfter > 0 ? Math.ceil(retryAfter) : undefined;
      const { text } = await boundedText(bytes, MOST_REFUSAL_BYTES);
      return { kind: 'refused', refusal: { status, text, retryAfterSeconds } };
    },
    call: async (address, limitMs, body) => {
      const signal = AbortSignal.timeout(limitMs);
      const { status, bytes } = await openAnswer(agent, address, {
        method: body === undefined ? 'GET' : 'POST',
        headers: headersFor('application/json'),
        ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
        signal,
      }).catch((error: unknown) => {
        throw signal.aborted ? new Error(`${address} did not answer within ${limitMs} ms`) : error;
      });
      const { text, isWhole } = await boundedText(bytes, MOST_ANSWER_BYTES);
      if (!isWhole) throw new Error(`${address} returned more than ${MOST_ANSWER_BYTES} bytes`);
      return { status, text };
    },
    close: async () => {
      await withDeadline(agent.close(), CLOSE_LIMIT_MS, () => {});
      await agent.destroy();
    },
  };
}

type BoundedText = { readonly text: string; readonly isWhole: boolean };

/** Reads up to `most` bytes of an answer. If there are more, the connection is closed. */
function boundedText(bytes: AnswerBytes, most: number): Promise<BoundedText> {
  const parts: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const finish = () => {
      const text = Buffer.concat(parts).subarray(0, most).toString('utf8');
      resolve({ text, isWhole: size <= most });
    };
    bytes.listen({
      onBytes: (part) => {
        if (size > most) return;
        parts.push(part);
        size += part.length;
        if (size <= most) return;
        finish();
        bytes.stop();
      },
      onEnd: finish,
      onBreak: reject,
    });
  });
}

const unsent = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A pooled connection that was closed does not count: undici opens another one itself. */
function wasNotSent(error: unknown): boolean {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  return unsent.has(code) || syscall === 'connect';
}
