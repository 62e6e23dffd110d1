import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { Answer, SessionClient } from '../api-client.ts';
import type { LeaseClient } from '../lease-client.ts';

/** What happens to a server that does not answer: it is waited for, it answers again, or nobody waits any more. */
export type Silence =
  | { readonly kind: 'silent' | 'given-up'; readonly reason: string }
  | { readonly kind: 'over' };

/** The requests of a rollout about its sessions and about the environments that they lease. */
export type WatchedClients = {
  readonly sessions: Pick<SessionClient, 'start' | 'reward' | 'steps' | 'end'>;
  readonly leases: Pick<LeaseClient, 'say'>;
};

/**
 * Watches whether the server answers any request about sessions and leases. A server is given up, once, when it has
 * been silent to all of them for `limitMs`: every part of a rollout waits for it, so no single part can tell. An error
 * of the server itself, such as 503 while it ends, becomes silence: it says nothing about the request.
 *
 * @param stop requests that end because the rollout stops do not count
 */
export function watchServer(
  { sessions, leases }: WatchedClients,
  { limitMs, onSilence, stop }: ServerWatchOptions,
): WatchedClients {
  /** monotonic ms of the first request without an answer; undefined: the server answers */
  let since: number | undefined;
  let isGivenUp = false;
  const noted = async <Value>(asked: Promise<Answer<Value>>): Promise<Answer<Value>> => {
    const answer = silentIfBroken(await asked);
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
    sessions: {
      start: (...given) => noted(sessions.start(...given)),
      reward: (...given) => noted(sessions.reward(...given)),
      steps: (...given) => noted(sessions.steps(...given)),
      end: (...given) => noted(sessions.end(...given)),
    },
    leases: { say: (...given) => noted(leases.say(...given)) },
  };
}

function silentIfBroken<Value>(answer: Answer<Value>): Answer<Value> {
  if (answer.kind !== 'refused' || answer.status < 500) return answer;
  return { kind: 'silent', reason: `${answer.status}: ${answer.message}` };
}

type ServerWatchOptions = {
  readonly limitMs: number;
  readonly onSilence: (silence: Silence) => void;
  readonly stop: AbortSignal;
};
