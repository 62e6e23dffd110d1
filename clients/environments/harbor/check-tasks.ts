import { randomUUID } from 'node:crypto';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import type { Task } from '../../rollout/read-tasks.ts';
import type { HarborDriver } from './driver.ts';

/** A reward, or why there is none. */
export type Outcome = number | { readonly problem: string };

export type CheckedTask = {
  readonly name: string;
  /** without doing anything, twice */
  readonly nop: readonly Outcome[];
  /** with the reference solution, twice */
  readonly oracle: readonly Outcome[];
  readonly ms: number;
};

/** An unchanged task must earn 0 and a solved task 1, each twice. */
const TIMES = 2;

/**
 * Checks tasks against their own reference solutions, as many at once as the driver lets in.
 *
 * @param onTask called after each task
 */
export async function checkTasks(
  driver: HarborDriver,
  tasks: readonly Task[],
  { signal, onTask }: { readonly signal: AbortSignal; readonly onTask: () => void },
): Promise<readonly CheckedTask[]> {
  return Promise.all(
    tasks.map(async (task) => {
      const began = monotonicNow();
      const earn = (isSolved: boolean) =>
        Promise.all(Array.from({ length: TIMES }, () => outcomeOf(driver, task, isSolved, signal)));
      const [nop, oracle] = await Promise.all([earn(false), earn(true)]);
      onTask();
      return { name: task.name, nop, oracle, ms: monotonicNow() - began };
    }),
  );
}

async function outcomeOf(
  driver: HarborDriver,
  { data }: Task,
  isSolved: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const episode = await driver.open(data, { id: `check-${randomUUID()}`, seed: 0, signal });
    try {
      if (isSolved) await episode.solve(signal);
      return (await episode.evaluate(signal)).reward!;
    } finally {
      await episode.close();
    }
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** The fault of a task; undefined: none. */
export function faultOf({ nop, oracle }: CheckedTask): string | undefined {
  const problem = [...nop, ...oracle].find((outcome) => typeof outcome === 'object');
  if (typeof problem === 'object') return problem.problem;
  if (new Set(nop).size > 1 || new Set(oracle).size > 1) return 'flaky: two runs earn different rewards';
  if (nop[0] !== 0) return 'earns a reward without any work';
  if (oracle[0] !== 1) return 'its reference solution does not earn 1';
  return undefined;
}
