import { randomUUID } from 'node:crypto';
import { doubling, pause } from '../../shared/lang/async.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { EnvironmentDriver, Observation, OpenEnvironment } from '../environments/environment.ts';
import { environmentFailureKind } from '../environments/environment-failure.ts';
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
  const carriedOut = new Map<string, Promise<Observation>>();
  const watched = async <Value>(work: Promise<Value>): Promise<Value> => {
    try {
      return await work;
    } catch (error) {
      const seen = failureOf(error);
      // A rating that failed may be repeated: whoever asks for it counts its failures.
      if (seen?.failure !== 'evaluation-failed') failure ??= seen;
      throw error;
    }
  };
  const { shell } = environment;
  return {
    failure: () => failure,
    environment: {
      ...environment,
      // A repeated request gets the first result: an action such as a click must not happen twice.
      act: (action, signal) => {
        const known = carriedOut.get(action.id);
        if (known !== undefined) return known;
        const observation = watched(environment.act(action, signal));
        carriedOut.set(action.id, observation);
        return observation;
      },
      ...(shell && { shell: (command: string, signal: AbortSignal) => watched(shell(command, signal)) }),
      evaluate: (signal) => watched(environment.evaluate(signal)),
    },
  };
}
