import { doubling, pause } from '../../shared/lang/async.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { SessionClient, SessionStep } from '../api-client.ts';
import { persist } from './persist.ts';

/** ms between two looks at the votes */
const [FIRST_WAIT, LONGEST_WAIT] = [100, 2_000];

/**
 * The steps of an open session. Waits until no vote on them is pending, but no longer than until `deadline`
 * (monotonic, ms) or until the rollout stops.
 * @returns undefined: the server does not report them
 */
export async function stepsOf(
  client: Pick<SessionClient, 'steps'>,
  key: string,
  { deadline, stop }: { readonly deadline: number; readonly stop: AbortSignal },
): Promise<readonly SessionStep[] | undefined> {
  for (const wait of doubling(FIRST_WAIT, LONGEST_WAIT)) {
    const answer = await persist(() => client.steps(key), stop);
    if (answer.kind !== 'answer') return undefined;
    const isPending = answer.value.some(({ votes }) => votes === 'pending');
    if (!isPending || stop.aborted || monotonicNow() >= deadline) return answer.value;
    await pause(wait, stop);
  }
  throw new Error('unreachable: the waits are endless');
}
