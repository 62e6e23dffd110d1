import { Agent, fetch } from 'undici';
import { defined } from '../lang/defined.ts';
import { TinkerError } from './errors.ts';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** bytes of the longest answer */
  readonly limit?: number;
};

export type HttpAnswer = {
  readonly kind: 'answer';
  readonly status: number;
  readonly contentType: string;
  /** ms that the server asks to wait */
  readonly retryAfterMs: number | undefined;
  readonly location: string | undefined;
  readonly bytes: Uint8Array;
};

/** There is no answer; `wasSent`: the server may have received the request. */
export type HttpFault = { readonly kind: 'fault'; readonly wasSent: boolean; readonly reason: string };

export type Http = {
  /** Rejects only with the signal's reason, or with BAD_ANSWER if the answer is too long. */
  readonly send: (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer | HttpFault>;
  readonly close: () => Promise<void>;
};

/** Longest answer to a training call: some 20 bytes for each of 10 million log-probs. */
const ANSWER_LIMIT = 256 * 2 ** 20;
/** ms to establish a connection */
const CONNECT_LIMIT_MS = 10_000;
/** below the 5 s after which uvicorn closes idle connections, so that no request meets a closing connection */
const KEEP_ALIVE_MS = 4_000;

/** A pool of connections. The signal of each request limits its time; long polls take minutes. */
export function openHttp(): Http {
  const agent = new Agent({
    connect: { timeout: CONNECT_LIMIT_MS },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  return {
    send: async ({ method, url, headers = {}, body, limit = ANSWER_LIMIT }, signal) => {
      try {
        const response = await fetch(url, {
          method,
          headers,
          ...defined({ body }),
          signal,
          // the key must not go to another server: see exchange.ts
          redirect: 'manual',
          dispatcher: agent,
        });
        const bytes = await readBody(response.body, limit);
        if (bytes === undefined)
          throw TinkerError.BAD_ANSWER({ url: originOf(url), path: url, detail: `more than ${limit} bytes` });
        const retryAfter = Number(response.headers.get('retry-after'));
        return {
          kind: 'answer',
          status: response.status,
          contentType: response.headers.get('content-type') ?? '',
          retryAfterMs: retryAfter > 0 ? 1000 * retryAfter : undefined,
          location: response.headers.get('location') ?? undefined,
          bytes,
        };
      } catch (error) {
        signal.throwIfAborted();
        const { code, message } = causeOf(error);
        if (code === undefined) throw error;
        return { kind: 'fault', wasSent: !unsent.has(code), reason: message };
      }
    },
    close: () => agent.destroy(),
  };
}

export const originOf = (url: string): string => new URL(url).origin;

/** undefined: longer than the limit */
async function readBody(
  body: AsyncIterable<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    size += part.byteLength;
    if (size > limit) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const unsent: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** `fetch` wraps the network's error as its cause; an error without a code is none of the network. */
function causeOf(error: unknown): { readonly code: string | undefined; readonly message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const { cause } = error;
  const { code } = (cause instanceof Error ? cause : error) as NodeJS.ErrnoException;
  const isNetwork = error instanceof TypeError && error.message === 'terminated';
  return { code: code ?? (isNetwork ? 'terminated' : undefined), message: String(code ?? error.message) };
}
