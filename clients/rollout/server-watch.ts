import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { Answer, SessionClient } from '../api-client.ts';

/** What happens to a server that does not answer: it is waited for, it answers again, or nobody waits any more. */
export type Silence =
  | { readonly kind: 'silent' | 'given-up'; readonly reason: string }
  | { readonly kind: 'over' };

/** The requests of a rollout about its sessions. */
export type WatchedClient = Pick<SessionClient, 'start' | 'reward' | 'steps' | 'end'>;

/**
 * Watches whether the server answers any request about sessions. A server is given up, once, when it has been silent
 * to all of them for `limitMs`: every part of a rollout waits for it, so no single part can tell.
 *
 * @param stop requests that end because the rollout stops do not count
 */
export function watchServer(
  client: WatchedClient,
  { limitMs, onSilence, stop }: ServerWatchOptions,
): WatchedClient {
  /** monotonic ms of the first request without an answer; undefined: the server answers */
  let since: number | undefined;
  let isGivenUp = false;
  const noted = async <Value>(asked: Promise<Answer<Value>>): Promise<Answer<Value>> => {
    const answer = await asked;
    if (isGivenUp || stop.aborted) return answer;
    if (answer.kind !== 'silent') {
      if (since !== undefined) onSilence({ kind: 'over' });
      since = undefined;
      return answer;
    }
    if (since === undefined) onSilence({ kind: 'silent', reason: answer.reason });
    since ??= monotonicNow();
    isGivenUp = monotonicNow() - since > limitMs;
    if (isGivenUp) onSilence({ kind: 'given-up', reason: answer.reason });
    return answer;
  };
  return {
    start: (...given) => noted(client.start(...given)),
    reward: (...given) => noted(client.reward(...given)),
    steps: (...given) => noted(client.steps(...given)),
    end: (...given) => noted(client.end(...given)),
  };
}

type ServerWatchOptions = {
  readonly limitMs: number;
  readonly onSilence: (silence: Silence) => void;
  readonly stop: AbortSignal;
};
