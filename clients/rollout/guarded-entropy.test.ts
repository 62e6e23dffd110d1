import { expect, test } from 'vitest';
import { guardedEntropy, guardedLines } from './guarded-entropy.ts';
import { formatSummary } from './summary.ts';
import { createProtocolDouble } from './testing/protocol-server.ts';
import { roll } from './testing/roll.ts';

test('entropy is a mean per choice, and a part of the most possible', () => {
  const four = Math.log(4);
  const entropy = guardedEntropy([
    { count: 1, nats: four, most: four },
    { count: 3, nats: four, most: 3 * four },
  ])!;
  expect(entropy.choices).toBe(4);
  expect(entropy.nats).toBeCloseTo(four / 2, 12);
  expect(entropy.share).toBeCloseTo(0.5, 12);
  expect(guardedEntropy([])).toBeUndefined();
});

test('a policy that hardly varies is warned of while most tasks without spread earn nothing', () => {
  const low = { choices: 10, nats: 0.05, share: 0.04 };
  const warned = (share: number, withoutSpread: number, withoutSuccess: number) =>
    guardedLines({ ...low, share }, { withoutSpread, withoutSuccess }).length > 1;
  expect(warned(0.04, 8, 6)).toBe(true);
  expect(warned(0.04, 8, 2)).toBe(false); // it has learned its tasks
  expect(warned(0.5, 8, 6)).toBe(false); // the tasks are hard
  expect(warned(0.04, 0, 0)).toBe(false);
});

test("the summary of a rollout shows the server's figures of its sessions", async () => {
  const double = createProtocolDouble({ guarded: { count: 2, nats: 0.04, most: 2.8 } });
  const { summary } = await roll({ tasks: 2, n: 2, double, reward: () => -1 });
  expect(summary.guarded).toMatchObject({ choices: 8, nats: expect.closeTo(0.02, 12) });
  expect(formatSummary(summary, { count: 0, ms: 0 })).toMatch(
    /guarded choices: mean entropy 0\.020 nats, 1 % of the most possible \(8 choices\)\nwarning: exploration/,
  );
  const without = await roll({ tasks: 1, n: 2 });
  expect(formatSummary(without.summary, { count: 0, ms: 0 })).not.toContain('guarded');
});
