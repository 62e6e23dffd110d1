import { expect, test } from 'vitest';
import type { EnvironmentDriver } from '../../../clients/environments/environment.ts';
import { describeWithMiniWob } from './describe-with-miniwob.ts';
import { act, driverHere, open } from './play.ts';
import { readObservation } from './solvers.ts';

const { signal } = new AbortController();
const MOST_ACTIONS = 8;

/** Clicks one element after the other, and fills those that accept text. */
async function fumble(driver: EnvironmentDriver, task: object) {
  const environment = await open(driver, task);
  const seen: unknown[] = [environment.messages[0]!.content];
  const { lines } = readObservation(environment.messages[0]!.content);
  for (const { ref, kind } of lines.slice(0, MOST_ACTIONS)) {
    const [name, more] = /^(input text|textarea)/.test(kind) ? ['fill', { text: 'a b' }] : ['click', {}];
    const observation = await act(environment, name as string, { ref, ...(more as object) });
    seen.push(observation);
    if (observation.isDone) break;
  }
  const evaluation = await environment.evaluate(signal);
  await environment.close();
  return { seen, evaluation };
}

describeWithMiniWob('all pages of MiniWoB++', () => {
  test('130 pages take actions, and show and rate the same in two browsers', async () => {
    const [one, other] = [driverHere(), driverHere()];
    try {
      const tasks = await one.tasks({ split: undefined, range: undefined });
      expect(tasks).toHaveLength(130);
      const different: unknown[] = [];
      for (const { name, data } of tasks) {
        const [first, second] = await Promise.all(
          [one, other].map((driver) => fumble(driver, data as object).catch((error: Error) => error.message)),
        );
        if (typeof first === 'string' || JSON.stringify(first) !== JSON.stringify(second))
          different.push({ name, first, second });
        else expect(Math.abs(first!.evaluation.reward!), name).toBeLessThanOrEqual(1);
      }
      expect(different).toEqual([]);
    } finally {
      await one.close!();
      await other.close!();
    }
  });
});
