import { expect, test } from 'vitest';
import { createRandom } from '../../../shared/policy/model/random.ts';
import { largestBatch } from '../../../shared/policy/train/training-defaults.ts';
import { playRollout, type Rollout } from './rollout-model.ts';

/** A rollout of 12 tasks, eight attempts at a time; steps are short beside sessions. */
const rolloutOf = (random: () => number, batchSize: number, more: Partial<Rollout>): Rollout => ({
  limits: { maxSessions: 256, batchSize, maxBatchSize: largestBatch(batchSize), maxStaleness: 4 },
  tasks: 12,
  n: 4,
  workers: 8,
  retryMs: 1000,
  turns: () => 3,
  turnMs: () => 200 + 1000 * random(),
  stepMs: (samples) => 300 + 50 * samples,
  ...more,
});
const share = (ends: readonly { readonly stale: number; readonly samples: number }[]): number =>
  ends.reduce((sum, { stale }) => sum + stale, 0) / ends.reduce((sum, { samples }) => sum + samples, 0);
const seeds = Array.from({ length: 10 }, (_, seed) => seed);

test.each([
  ['attempts of three turns', {}],
  ['attempts on their own', { n: 1 }],
  ['groups of two', { n: 2 }],
  ['groups that are larger than the room', { n: 12 }],
  ['attempts of one turn', { turns: () => 1 }],
  ['attempts of ten turns', { turns: () => 10 }],
  ['slow agents', { turnMs: () => 5000 }],
  ['slow steps', { stepMs: (samples: number) => 3000 + 500 * samples }],
])('with the batches of claw-nano hardly a sample grows too old: %s', (_, more) => {
  const ends = seeds.map((seed) => playRollout(rolloutOf(createRandom(`rollout/${seed}`), 2, more)));
  expect(share(ends)).toBeLessThan(0.02);
});

test('agents of very different lengths lose few samples', () => {
  const ends = seeds.map((seed) => {
    const random = createRandom(`lengths/${seed}`);
    const turns = () => 1 + Math.floor(6 * random());
    const turnMs = () => -3000 * Math.log(1 - random());
    return playRollout(rolloutOf(random, 2, { n: 1, tasks: 48, turns, turnMs }));
  });
  expect(share(ends)).toBeLessThan(0.05);
});

test('every rollout comes to its end, whatever the batches, the room and the attempts are', () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = createRandom(`any/${seed}`);
    const from = (...values: readonly number[]) => values[Math.floor(random() * values.length)]!;
    const [turns, turnMs, stepMs] = [from(1, 3, 20), from(10, 500, 20_000), from(0, 200, 30_000)];
    const batchSize = from(1, 2, 3, 16);
    const end = playRollout({
      limits: {
        maxSessions: 256,
        batchSize,
        maxBatchSize: from(1, 8) * batchSize,
        maxStaleness: from(0, 1, 4),
      },
      tasks: from(1, 3, 8),
      n: from(1, 2, 5, 13),
      workers: from(1, 4, 40),
      retryMs: 1000,
      turns: () => 1 + Math.floor(turns * random()),
      turnMs: () => turnMs * (0.1 + 2 * random()),
      stepMs: () => stepMs * random(),
    });
    expect(end.samples).toBeGreaterThan(0);
  }
});
