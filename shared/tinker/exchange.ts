import { pause } from '../lang/async.ts';
import { TinkerError } from './errors.ts';
import { type Http, type HttpAnswer, type HttpFault, type HttpRequest, originOf } from './http.ts';

export type ExchangeOptions = {
  /** the server does not apply the request twice, so it may be sent again after a lost answer */
  readonly mayRepeat: boolean;
  /** ms before each further attempt */
  readonly waitsMs: readonly number[];
  /** ms until an attempt counts as lost */
  readonly limitMs: number;
  /** a long poll: 408 is its answer */
  readonly isPoll?: boolean;
  /** removes the key from a text */
  readonly hide: (text: string) => string;
  readonly signal: AbortSignal;
};

/** ms before each further attempt: about a minute in all. */
export const defaultWaitsMs: readonly number[] = [
  250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000,
];

/** Most ms that a server may ask to wait. */
const LONGEST_WAIT_MS = 60_000;

/** 425: SkyRL has not written the files of a saved adapter yet. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** What an outcome means for the request; the first match wins. */
const moves: readonly {
  readonly matches: (
    outcome: HttpAnswer | HttpFault,
    options: Pick<ExchangeOptions, 'mayRepeat' | 'isPoll'>,
  ) => boolean;
  readonly move: 'answer' | 'again' | 'lost';
}[] = [
  { matches: (outcome) => outcome.kind === 'fault' && !outcome.wasSent, move: 'again' },
  { matches: (outcome, { mayRepeat }) => outcome.kind === 'fault' && mayRepeat, move: 'again' },
  { matches: (outcome) => outcome.kind === 'fault', move: 'lost' },
  {
    matches: (outcome, { isPoll }) => outcome.kind === 'answer' && outcome.status === 408 && isPoll === true,
    move: 'answer',
  },
  // refused before anything was done
  { matches: (outcome) => outcome.kind === 'answer' && outcome.status === 429, move: 'again' },
  {
    matches: (outcome, { mayRepeat }) =>
      outcome.kind === 'answer' && mayRepeat && passing.has(outcome.status),
    move: 'again',
  },
  { matches: () => true, move: 'answer' },
];

/**
 * Sends a request until it is answered, as often as it may be sent.
 *
 * @throws UNREACHABLE, BUSY, ANSWER_LOST, BAD_ANSWER; the signal's reason
 */
export async function exchange(
  http: Http,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<HttpAnswer> {
  const { waitsMs, signal } = options;
  const { pathname: path, origin: url } = new URL(request.url);
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    const outcome = await attemptOnce(http, request, options);
    const { move } = moves.find(({ matches }) => matches(outcome, options))!;
    if (outcome.kind === 'fault') {
      if (move === 'lost') throw TinkerError.ANSWER_LOST({ path, detail: outcome.reason });
      if (attempt === waitsMs.length) throw TinkerError.UNREACHABLE({ url, detail: outcome.reason });
    } else {
      if (move === 'answer' && outcome.status < 500) return outcome;
      const detail = options.hide(textOf(outcome)).slice(0, 300);
      if (move === 'answer' || attempt === waitsMs.length)
        throw TinkerError.BUSY({ path, status: outcome.status, attempts: attempt + 1, detail });
    }
    const asked = outcome.kind === 'answer' ? (outcome.retryAfterMs ?? 0) : 0;
    const wait = Math.min(Math.max(waitsMs[attempt]!, asked), LONGEST_WAIT_MS);
    // many clients that were refused together must not come back together
    await pause(wait * (1 - Math.random() / 4), signal);
  }
}

/** An attempt that takes too long is a fault: the server may have received it. */
async function attemptOnce(
  http: Http,
  request: HttpRequest,
  { signal, limitMs }: ExchangeOptions,
): Promise<HttpAnswer | HttpFault> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    return await http.send(request, AbortSignal.any([signal, limit]));
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error;
    return { kind: 'fault', wasSent: true, reason: `no answer within ${limitMs / 1000} s` };
  }
}

/** Follows one redirect by a GET; the headers, which hold the key, go to the first server only. */
export async function download(
  http: Http,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<HttpAnswer> {
  const first = await exchange(http, request, options);
  if (first.location === undefined || first.status < 300 || first.status >= 400) return first;
  const url = new URL(first.location, request.url).href;
  const { headers, ...rest } = request;
  const isSame = originOf(url) === originOf(request.url);
  return exchange(http, { ...rest, url, ...(isSame && headers !== undefined && { headers }) }, options);
}

export const textOf = ({ bytes }: HttpAnswer): string => Buffer.from(bytes).toString('utf8');
