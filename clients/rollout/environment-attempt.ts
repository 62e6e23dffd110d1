import { randomUUID } from 'node:crypto';
import { observedHash } from '../../shared/chat/observed.ts';
import { doubling, pause } from '../../shared/lang/async.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { Action, EnvironmentDriver, Observation, OpenEnvironment } from '../environments/environment.ts';
import { environmentFailureKind } from '../environments/environment-failure.ts';
import type { ShownState } from './compare-steps.ts';
import { type Failure, failed } from './failures.ts';

/** ms between two tries to open an environment */
const [FIRST_WAIT, LONGEST_WAIT] = [500, 10_000];

type OpenOptions = {
  /** equal for all attempts at a task */
  readonly seed: number;
  /** ms to wait for an environment that is full or not ready */
  readonly patienceMs: number;
  readonly stop: AbortSignal;
};

/** An environment that remembers its own failure, since an agent may hide it. */
export type WatchedEnvironment = {
  readonly environment: OpenEnvironment;
  readonly failure: () => Failure | undefined;
  /** states that it has shown and named so far */
  readonly states: () => readonly ShownState[];
};

/** Opens an environment. Waits while it is full or not ready. */
export async function openEnvironment(
  driver: EnvironmentDriver,
  task: unknown,
  { seed, patienceMs, stop }: OpenOptions,
): Promise<WatchedEnvironment | Failure> {
  const began = monotonicNow();
  for (const wait of doubling(FIRST_WAIT, LONGEST_WAIT)) {
    try {
      return watch(await driver.open(task, { id: randomUUID(), seed, signal: stop }));
    } catch (error) {
      if (stop.aborted) return failed('interrupted', 'stopped while the environment was opening');
      const failure = failureOf(error);
      if (failure === undefined) throw error;
      if (failure.failure !== 'environment-unavailable' || monotonicNow() - began + wait > patienceMs)
        return failure;
    }
    await pause(wait, stop);
  }
  throw new Error('unreachable: the waits are endless');
}

/** Undefined: the error is not the environment's. */
function failureOf(error: unknown): Failure | undefined {
  const kind = environmentFailureKind(error);
  return kind && failed(kind, (error as Error).message);
}

function watch(environment: OpenEnvironment): WatchedEnvironment {
  let failure: Failure | undefined;
  const states: ShownState[] = [];
  const carriedOut = new Map<string, Promise<Observation>>();
  const act = async (action: Action, signal: AbortSignal): Promise<Observation> => {
    try {
      const observation = await environment.act(action, signal);
      const { content, stateKey } = observation;
      if (stateKey !== undefined) states.push({ hash: observedHash(content), stateKey });
      return observation;
    } catch (error) {
      failure ??= failureOf(error);
      throw error;
    }
  };
  return {
    failure: () => failure,
    states: () => states,
    environment: {
      ...environment,
      // A repeated request gets the first result: an action such as a click must not happen twice.
      act: (action, signal) => {
        const known = carriedOut.get(action.id);
        if (known !== undefined) return known;
        const observation = act(action, signal);
        carriedOut.set(action.id, observation);
        return observation;
      },
    },
  };
}
