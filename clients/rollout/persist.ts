import { setTimeout as delay } from 'node:timers/promises';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { Answer } from '../api-client.ts';

/** ms; a server restarts slowly with a large model */
const PATIENCE_MS = 180_000;
/** ms; the same while the rollout is stopping */
const STOPPED_PATIENCE_MS = 1_500;
/** s between two tries */
const FIRST_WAIT = 0.5;
const LONGEST_WAIT = 10;

/**
 * Retries a request while the server is silent, busy or cannot write. Only for idempotent requests, such as
 * setting a reward or ending a session.
 */
export async function persist<Value>(
  send: () => Promise<Answer<Value>>,
  stop: AbortSignal,
): Promise<Answer<Value>> {
  const began = monotonicNow();
  for (let tries = 0; ; tries++) {
    const answer = await send();
    const isTemporary =
      answer.kind === 'silent' || (answer.kind === 'refused' && isTemporaryStatus(answer.status));
    const patience = stop.aborted ? STOPPED_PATIENCE_MS : PATIENCE_MS;
    if (!isTemporary || monotonicNow() - began > patience) return answer;
    const retryAfter = answer.kind === 'refused' ? answer.retryAfter : undefined;
    const seconds = Math.min(retryAfter ?? FIRST_WAIT * 2 ** tries, LONGEST_WAIT);
    await delay(seconds * 1000, undefined, stop.aborted ? {} : { signal: stop }).catch(() => {});
  }
}

/** The server is busy, starts or ends, or its disk is full. */
const isTemporaryStatus = (status: number): boolean => status === 429 || status >= 500;
