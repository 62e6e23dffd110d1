import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../rl-client.ts';

const TRIES = 5;
/** s */
const UNTOLD_WAIT = 1;
const LONGEST_WAIT = 10;

/** Asks again where the server was silent, busy or could not write: a reward set twice is the same reward. */
export async function persist<Value>(ask: () => Promise<Answer<Value>>): Promise<Answer<Value>> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    const mayPass = answer.kind === 'silent' || (answer.kind === 'refused' && isPassing(answer.status));
    if (!mayPass || tries === TRIES) return answer;
    const seconds = answer.kind === 'refused' ? (answer.retryAfter ?? UNTOLD_WAIT) : UNTOLD_WAIT;
    await delay(Math.min(seconds, LONGEST_WAIT) * 1000);
  }
}

const isPassing = (status: number): boolean => status === 429 || status >= 500;
