import { Agent, fetch } from 'undici';
import { isObject, parseJson } from '../../../shared/lang/json.ts';
import { Refusal } from './wire.ts';

/** The outcome of one request, which is never sent twice. */
export type PoolAnswer =
  | { readonly kind: 'answer'; readonly body: Readonly<Record<string, unknown>> }
  | {
      readonly kind: 'refused';
      readonly status: number;
      /** `CODE: message` of the server */
      readonly reason: string;
    }
  | {
      readonly kind: 'silent';
      readonly reason: string;
      /** the server may have carried out the request */
      readonly mayHaveArrived: boolean;
    };

/** ms */
const CONNECT_LIMIT = 10_000;

// A request has its own limit: undici's default would end every evaluation after 300 s. Each request has its own
// connection: if the server is just closing a kept connection, a request fails that must not be repeated.
const patient = new Agent({
  headersTimeout: 0,
  bodyTimeout: 0,
  pipelining: 0,
  connect: { timeout: CONNECT_LIMIT },
});

/** Errors before a request leaves this machine. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Sends one request to a pool server: a POST, or a GET if `body` is undefined.
 *
 * @throws the reason of `signal` when it aborts
 */
export async function request(
  url: string,
  body: object | undefined,
  { limitMs, signal }: { readonly limitMs: number; readonly signal?: AbortSignal | undefined },
): Promise<PoolAnswer> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const response = await fetch(url, {
      ...(body === undefined
        ? {}
        : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      redirect: 'error',
      dispatcher: patient,
    });
    return answerOf(response.status, parseJson(await response.text()));
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.aborted)
      return { kind: 'silent', reason: `no answer within ${limitMs / 1000} s`, mayHaveArrived: true };
    const cause = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
    const mayHaveArrived = !beforeSending.has(cause.code ?? '');
    return { kind: 'silent', reason: cause.message || (cause.code ?? 'no connection'), mayHaveArrived };
  }
}

function answerOf(status: number, body: unknown): PoolAnswer {
  const isOk = status >= 200 && status < 300;
  if (isOk && isObject(body) && body.ok !== false) return { kind: 'answer', body };
  const { error, code } = Refusal.safeParse(body).data ?? {};
  const reason = [code, error ?? `status ${status}`].filter(Boolean).join(': ');
  return {
    kind: 'refused',
    status,
    reason: isObject(body) ? reason : `status ${status}, not of a pool server`,
  };
}
