import { expect, test } from 'vitest';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import { baseVersion, type HeadState, initialHead } from '../../../shared/lineage/head.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import { batchesOf, chainBetween, type Learned, newestUntouched } from './plan.ts';

const { settings } = defaultTrainingSettings('claw-nano');
const at = { partition: 0, offset: 0 };
const batch = (n: number, parent: number, samples: readonly string[], again?: number) => ({
  batchId: `default/batch/${n}`,
  adapter: 'default',
  n,
  parent,
  size: 2,
  maxStaleness: 2,
  samples: samples.map((sampleId) => ({ sampleId, at })),
  settings: { ...settings, canaryShare: 0.2 },
  seed: n,
  ...(again === undefined ? {} : { again: `default/batch/${again}` }),
});

/** v1, v2 and v3 in a line; v4 trained batch 2 again on v1, without one sample; batch 5 is open on v4. */
const all = [
  batch(1, 0, ['a', 'b']),
  { ...batch(2, 1, ['c', 'd']), earlier: [{ sampleId: 'a', at }] },
  batch(3, 2, ['e~1', 'f']),
  batch(4, 1, ['d'], 2),
  batch(5, 4, ['g', 'h']),
] satisfies readonly BatchSubmitted['data'][];
const version = (n: number, parent: number) => ({ ...baseVersion, parent, checkpoint: `c${n}` });
const head: HeadState = {
  ...initialHead,
  head: 4,
  n: 5,
  open: all[4]!,
  versions: { 0: baseVersion, 1: version(1, 0), 2: version(2, 1), 3: version(3, 2), 4: version(4, 1) },
};
const learned: Learned = {
  head,
  batches: new Map(all.map((one) => [one.n, one])),
  waiting: [],
  withdrawn: new Set(),
  corrected: new Set(),
  erased: new Set(),
};
const everything = async () => true;

test('a chain has the batches that only the old line has, oldest first, and the open batch on it', () => {
  expect(chainBetween(learned, 0, 4)).toEqual({ to: 0, batches: [1, 2, 5], learned: [], lost: [] });
  expect(chainBetween(learned, 1, 3)).toEqual({ to: 1, batches: [2, 3], learned: [], lost: [5] });
  expect(chainBetween(learned, 4, 1)).toEqual({ to: 4, batches: [], learned: [], lost: [] });
});

test('what the start learned from, also by training again, is not in the chain', () => {
  expect(chainBetween(learned, 4, 3)).toEqual({ to: 4, batches: [3], learned: [2], lost: [] });
  const again = { ...all[4]!, again: 'default/batch/3' };
  const open = {
    ...learned,
    head: { ...head, open: again },
    batches: new Map(learned.batches).set(5, again),
  };
  expect(chainBetween(open, 4, 3)).toEqual({ to: 4, batches: [], learned: [2, 3], lost: [] });
});

test('batches that wait already come after those of the chain', () => {
  const waits = { ...learned, waiting: [3, 2] };
  expect(chainBetween(waits, 0, 1)).toEqual({ to: 0, batches: [1, 3, 2], learned: [], lost: [5] });
  expect(chainBetween(waits, 0, 4)).toEqual({ to: 0, batches: [1, 2, 5, 3], learned: [], lost: [] });
  expect(chainBetween(waits, 4, 4)).toEqual({ to: 4, batches: [], learned: [], lost: [] });
});

test('the start is the newest version that neither learned from what is gone nor descends from it', async () => {
  const start = (more: Partial<Learned>, has: (n: number) => boolean = () => true) =>
    newestUntouched({ ...learned, ...more }, 3, async (n) => has(n));
  expect(await start({})).toBeUndefined();
  expect(await start({ erased: new Set([3]) })).toBe(2);
  expect(await start({ erased: new Set([2]) })).toBe(1);
  expect(await start({ withdrawn: new Set(['e']) })).toBe(2);
  expect(await start({ withdrawn: new Set(['g']) })).toBeUndefined(); // trains, but is on another line
  expect(await start({ erased: new Set([3]) }, (n) => n < 2)).toBe(1);
  expect(await start({ erased: new Set([3]) }, () => false)).toBe(0);
});

test('a batch is returned as it was first formed, without what is gone and without its canary', async () => {
  const chain = { batches: [1, 2, 3] };
  const [first, second, third] = await batchesOf(
    { ...learned, withdrawn: new Set(['e']), corrected: new Set(['f']) },
    chain,
    async ({ sampleId }) => sampleId === 'a' || sampleId === 'd',
  );
  expect(first).toMatchObject({ batchId: 'default/batch/1', n: 1, seed: 1, without: 1 });
  expect(first?.samples).toEqual([{ sampleId: 'b', at }]);
  expect(first?.settings).toEqual({ ...settings, canaryShare: 0 });
  // with the sample that v4 lacked
  expect(second).toMatchObject({ batchId: 'default/batch/2', n: 2, seed: 2, without: 1, earlier: [] });
  expect(second?.samples).toEqual([{ sampleId: 'c', at }]);
  expect(third).toBeUndefined();
  expect(await batchesOf(learned, { batches: [3] }, everything)).toEqual([undefined]);
});
