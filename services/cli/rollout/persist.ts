import { setTimeout as delay } from 'node:timers/promises';
import { monotonicNow } from '../../../shared/service/clock.ts';
import type { Answer } from '../rl-client.ts';

/** ms; a server that starts again with a large model takes a while */
const PATIENCE_MS = 180_000;
/** the same once somebody waits for the rollout to stop */
const STOPPED_PATIENCE_MS = 1_500;
/** s between two tries */
const FIRST_WAIT = 0.5;
const LONGEST_WAIT = 10;

/**
 * Asks again while the server is silent, busy or cannot write. For what may be said twice: a reward that is
 * set again is the same reward, and an end that is told again the same end.
 */
export async function persist<Value>(
  ask: () => Promise<Answer<Value>>,
  stop: AbortSignal,
): Promise<Answer<Value>> {
  const began = monotonicNow();
  for (let tries = 0; ; tries++) {
    const answer = await ask();
    const mayPass = answer.kind === 'silent' || (answer.kind === 'refused' && isPassing(answer.status));
    const patience = stop.aborted ? STOPPED_PATIENCE_MS : PATIENCE_MS;
    if (!mayPass || monotonicNow() - began > patience) return answer;
    const told = answer.kind === 'refused' ? answer.retryAfter : undefined;
    const seconds = Math.min(told ?? FIRST_WAIT * 2 ** tries, LONGEST_WAIT);
    await delay(seconds * 1000, undefined, stop.aborted ? {} : { signal: stop }).catch(() => {});
  }
}

const isPassing = (status: number): boolean => status === 429 || status >= 500;
