import { observedHash } from '../../shared/chat/observed.ts';
import { doubling, pause } from '../../shared/lang/async.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { Action, EnvironmentDriver, Observation, OpenEnvironment } from '../environments/environment.ts';
import { environmentFailureKind, isEnvironmentFull } from '../environments/environment-failure.ts';
import type { ShownState } from './compare-steps.ts';
import { type Failure, failed, interrupted } from './failures.ts';
import type { AttemptLease } from './lease.ts';

/** ms between two tries to open an environment */
const [FIRST_WAIT, LONGEST_WAIT] = [500, 10_000];

type OpenOptions = {
  /** session of the attempt; its container or connection carries this name */
  readonly session: string;
  readonly lease: AttemptLease;
  /** equal for all attempts at a task */
  readonly seed: number;
  /** ms to wait for an environment that is full or not ready */
  readonly patienceMs: number;
  readonly stop: AbortSignal;
  /** whether other attempts use environments, which make room when they end */
  readonly isBusy: () => boolean;
  /** no attempt can work in this environment */
  readonly onRefused: (error: UsageError) => void;
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
  { session, lease, seed, patienceMs, stop, isBusy, onRefused }: OpenOptions,
): Promise<WatchedEnvironment | Failure> {
  let movedAt = monotonicNow();
  for (const wait of doubling(FIRST_WAIT, LONGEST_WAIT)) {
    try {
      lease.check();
      const environment = await driver.open(task, { id: session, seed, signal: stop });
      lease.ready();
      return watch(environment, lease);
    } catch (error) {
      if (stop.aborted) return interrupted(stop, 'stopped while the environment was opening');
      if (error instanceof UsageError) {
        onRefused(error);
        return failed('interrupted', error.message);
      }
      const failure = failureOf(error) ?? failed('environment-broken', String(error));
      if (isEnvironmentFull(error) && isBusy()) movedAt = monotonicNow();
      if (failure.failure !== 'environment-unavailable' || monotonicNow() - movedAt + wait > patienceMs)
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

function watch(environment: OpenEnvironment, lease: AttemptLease): WatchedEnvironment {
  let failure: Failure | undefined;
  const states: ShownState[] = [];
  const carriedOut = new Map<string, Promise<Observation>>();
  let commands = 0;
  /** Notes the environment's own failure. */
  const watched = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      lease.check();
      return await work();
    } catch (error) {
      const seen = failureOf(error);
      // A rating that failed may be repeated: its caller counts the failures.
      if (seen?.failure !== 'evaluation-failed') failure ??= seen;
      throw error;
    }
  };
  /** Reports the action to the lease. */
  const carryOut = async <Result>(
    action: Action,
    work: () => Promise<Result>,
    observationOf: (result: Result) => Observation,
  ): Promise<Result> => {
    const began = monotonicNow();
    const result = await watched(work);
    const observation = observationOf(result);
    const { content, stateKey } = observation;
    if (stateKey !== undefined) states.push({ hash: observedHash(content), stateKey });
    lease.acted(action, observation, began);
    return result;
  };
  const { shell } = environment;
  return {
    failure: () => failure,
    states: () => states,
    environment: {
      ...environment,
      // A repeated request gets the first result: an action such as a click must not happen twice.
      act: (action, signal) => {
        const known = carriedOut.get(action.id);
        if (known !== undefined) return known;
        const observation = carryOut(
          action,
          () => environment.act(action, signal),
          (seen) => seen,
        );
        carriedOut.set(action.id, observation);
        return observation;
      },
      ...(shell && {
        shell: (command: string, signal: AbortSignal) =>
          carryOut(
            { id: `shell/${commands++}`, name: 'shell', arguments: { command } },
            () => shell(command, signal),
            ({ code, output }) => ({ content: output, isError: code !== 0, isDone: false }),
          ),
      }),
      evaluate: (signal) => watched(async () => lease.evaluated(await environment.evaluate(signal))),
    },
  };
}
