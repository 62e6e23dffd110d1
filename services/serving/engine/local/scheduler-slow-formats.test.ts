import { expect, test } from 'vitest';
import { policyOf, SLOW_MS, schedulerFixture } from './testing/scheduler-setup.ts';

test('slow answers of all versions alternate, so that no answer waits for all of them', async () => {
  const { scheduler, run, now } = schedulerFixture(8, 0);
  await scheduler.serve('alice', policyOf(1));
  await scheduler.serve('bob', policyOf(1, 'bob'));
  const bob = { kind: 'live', adapter: 'bob' } as const;
  const slow = [{}, {}, {}, {}, { target: bob }, { target: bob }, { target: bob }].map(
    (asked) => run(12, { ...asked, isSlow: true }).outcome,
  );
  const said: number[] = [];
  const bystander = run(60, { onChunk: () => said.push(now()) });
  expect((await bystander.outcome).seen).toHaveLength(60);
  const pauses = said.slice(1).map((time, index) => time - said[index]!);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(2 * SLOW_MS); // one answer that continues, one that begins
  for (const { seen } of await Promise.all(slow)) expect(seen).toHaveLength(12);
});
