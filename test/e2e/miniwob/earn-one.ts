import { expect } from 'vitest';
import { driverHere, play } from './play.ts';
import { solvers } from './solvers.ts';

/** attempts in the browser at once */
const AT_ONCE = 4;

/** Every solver must earn 1 on the seeds 0 to `seeds` - 1 of its page. */
export async function expectSolversEarnOne(seeds: number): Promise<void> {
  const driver = driverHere();
  const waiting = Object.keys(solvers).flatMap((page) =>
    Array.from({ length: seeds }, (_, seed) => ({ page, seed })),
  );
  const episodes = waiting.length;
  const unearned: unknown[] = [];
  let earned = 0;
  const work = async () => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      const { reward, seen } = await play(driver, task.page, task.seed).catch((error: Error) => ({
        reward: error.message,
        seen: [],
      }));
      if (reward === 1) earned++;
      else unearned.push({ ...task, reward, seen });
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    await driver.close!();
  }
  expect(unearned).toEqual([]);
  expect(earned).toBe(episodes);
}
