import { expect, test } from 'vitest';
import { emptyAdamWState } from '../../shared/policy/adamw.ts';
import { baselineVerdicts, sampleAdvantage } from './sample-advantage.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { toyEngine, toyLogProbs } from './testing/toy-engine.ts';

const baseline = { value: 0.25, count: 8 };
const on = { baseline: true };
const vote = { verdict: 1, source: 'votes' } as const;
const reward = { verdict: 0.5, source: 'reward' } as const;

test('a verdict is compared with the baseline, an advantage is one already', () => {
  expect(sampleAdvantage(vote, baseline, on)).toBe(0.75);
  expect(sampleAdvantage(reward, baseline, on)).toBe(0.25);
  expect(sampleAdvantage(reward, baseline, { baseline: false })).toBe(0.5);
  expect(sampleAdvantage({ ...reward, advantage: -2 }, baseline, on)).toBe(-2);
  expect(sampleAdvantage({ ...reward, advantage: 0 }, baseline, on)).toBe(0);
});

test('a vote of 0 says nothing, a reward of 0 does', () => {
  expect(sampleAdvantage({ ...vote, verdict: 0 }, baseline, on)).toBeUndefined();
  expect(sampleAdvantage({ ...reward, verdict: 0 }, baseline, on)).toBe(-0.25);
});

test('no sample outweighs its batch', () => {
  expect(sampleAdvantage({ ...reward, verdict: 300 }, baseline, on)).toBe(10);
  expect(sampleAdvantage({ ...reward, advantage: -1e300 }, baseline, on)).toBe(-10);
  expect(sampleAdvantage({ ...reward, advantage: Number.NaN }, baseline, on)).toBeNaN(); // the step says so
});

test('the baseline is the mean of votes and rewards, of none that came with an advantage, and within 1', () => {
  const samples = [vote, { ...vote, verdict: 0 }, reward, { ...reward, verdict: 0 }];
  expect(baselineVerdicts([...samples, { ...reward, advantage: 3 }, { ...reward, verdict: -40 }])).toEqual([
    ...[1, 0.5, 0, -1],
  ]);
});

const liked = sampleData('liked', { tokens: { responseIds: [4], logProbs: [Math.log(1 / 5)] } });
const run = (samples: readonly ReturnType<typeof sampleData>[], parent?: Candidate) => {
  const input = { parent, batch: batchData(parent ? 2 : 1, samples, { rank: 2, alpha: 2 }), samples };
  return step(toyEngine, input) as Candidate;
};

test('a step learns from a reward of 0 what was expected to be better, and by an advantage in its place', () => {
  const parent: Candidate = { ...run([liked]), optimizer: emptyAdamWState() };
  const before = toyLogProbs(parent.adapter)[4]!;
  const zero = run([{ ...liked, version: 1, verdict: 0, source: 'reward' }], parent);
  expect(zero.metrics.advantage).toBeCloseTo(-parent.baseline.value, 12);
  expect(toyLogProbs(zero.adapter)[4]).toBeLessThan(before);
  expect(zero.baseline.count).toBe(2);
  const worse = run([{ ...liked, version: 1, verdict: 1, source: 'reward', advantage: -1 }], parent);
  expect(worse.metrics.advantage).toBe(-1);
  expect(toyLogProbs(worse.adapter)[4]).toBeLessThan(before);
  expect(worse.baseline).toEqual(parent.baseline);
});

test('the same batch of rewards gives the same bits again', () => {
  const samples = [
    { ...liked, source: 'reward' as const, verdict: 0 },
    { ...liked, source: 'reward' as const, advantage: 2 },
  ];
  const bits = ({ adapter }: Candidate) => [...adapter.tensors.values()].map(({ values }) => [...values]);
  expect(bits(run(samples))).toEqual(bits(run(samples)));
});
