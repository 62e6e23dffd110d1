import { expect, test } from 'vitest';
import { emptyAdamWState } from '../../shared/policy/train/adamw.ts';
import { localTraining } from './local-trainee.ts';
import { baselinesAfter, sampleAdvantage, weightOfVerdict } from './sample-advantage.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { toyEngine, toyLogProbs } from './testing/toy-engine.ts';

const baseline = { value: 0.25, count: 8, reward: { value: 0.25, count: 8 } };
const on = { baseline: true, rules: 2, leastBaseline: -1 };
const vote = { verdict: 1, source: 'votes', soft: false } as const;
const reward = { verdict: 0.5, source: 'reward', soft: false } as const;

test('a verdict is compared with the baseline; an advantage is used as it is', () => {
  expect(sampleAdvantage(vote, baseline, on)).toBe(0.75);
  expect(sampleAdvantage(reward, baseline, on)).toBe(0.25);
  expect(sampleAdvantage(reward, baseline, { ...on, baseline: false })).toBe(0.5);
  expect(sampleAdvantage({ ...reward, advantage: -2 }, baseline, on)).toBe(-2);
  expect(sampleAdvantage({ ...reward, advantage: 0 }, baseline, on)).toBe(0);
});

test('a vote of 0 does not train, a reward of 0 does', () => {
  expect(sampleAdvantage({ ...vote, verdict: 0 }, baseline, on)).toBeUndefined();
  expect(sampleAdvantage({ ...reward, verdict: 0 }, baseline, on)).toBe(-0.25);
});

test('constant complaints still train', () => {
  const grim = { value: -1, count: 20, tool: { value: -1, count: 20 } };
  const complaint = { ...vote, verdict: -1 } as const;
  expect(sampleAdvantage(complaint, grim, on)).toBe(0);
  const bounded = { ...on, leastBaseline: -0.5 };
  expect(sampleAdvantage(complaint, grim, bounded)).toBe(-0.5);
  expect(sampleAdvantage(complaint, { value: 0.5, count: 20 }, bounded)).toBe(-1.5);
  expect(sampleAdvantage({ ...complaint, evidence: 'tool' }, grim, bounded)).toBe(0); // a call without a verdict is not praised
});

test('no sample outweighs its batch', () => {
  expect(sampleAdvantage({ ...reward, verdict: 300 }, baseline, on)).toBe(10);
  expect(sampleAdvantage({ ...reward, advantage: -1e300 }, baseline, on)).toBe(-10);
  expect(sampleAdvantage({ ...reward, advantage: Number.NaN }, baseline, on)).toBeNaN(); // the step reports it
});

test('a baseline is the mean of verdicts of its kind, without advantages, within 1', () => {
  const settings = { rules: 2, baselineDecay: 0 };
  const person = [vote, { ...vote, verdict: 0 }];
  const rewards = [
    reward,
    { ...reward, verdict: 0 },
    { ...reward, advantage: 3 },
    { ...reward, verdict: -40 },
  ];
  const calls = [{ ...vote, verdict: -1, evidence: 'tool' as const }];
  expect(baselinesAfter(baseline, [...person, ...rewards, ...calls], settings)).toEqual({
    value: 1,
    count: 9,
    reward: { value: (0.5 + 0 - 1) / 3, count: 11 },
    tool: { value: -1, count: 1 },
  });
  // A baseline without verdicts of its kind in the batch stays the same.
  const before = { ...baseline, tool: { value: -0.5, count: 3 } };
  expect(baselinesAfter(before, [vote], settings)).toEqual({ ...before, value: 1, count: 9 });
});

test('a failed call is compared with other calls, and a reward with rewards', () => {
  const baselines = { value: 1, count: 9, tool: { value: -0.5, count: 4 }, reward: { value: 0.4, count: 2 } };
  const failed = { ...vote, verdict: -1, evidence: 'tool' } as const;
  expect(sampleAdvantage(failed, baselines, on)).toBe(-0.5);
  expect(sampleAdvantage(reward, baselines, on)).toBeCloseTo(0.1, 12);
  expect(sampleAdvantage(vote, baselines, on)).toBe(0);
  expect(sampleAdvantage(failed, { value: 1, count: 9 }, on)).toBe(-1);
});

test.each([
  ['a mean vote', { soft: true }],
  ['a verdict of a later answer', { carried: 1, evidence: 'tool' }],
] as const)('%s is reduced by its baseline without a change of sign', (_, weak) => {
  const against = (verdict: number, value: number) =>
    sampleAdvantage({ ...vote, verdict, ...weak }, { value, count: 9, tool: { value, count: 9 } }, on);
  expect(against(1 / 3, 0.9)).toBeUndefined();
  expect(against(-1 / 3, -0.9)).toBeUndefined();
  expect(against(0.5, 0.2)).toBeCloseTo(0.3, 12);
  // Nor does it exceed the verdict.
  expect(against(0.5, -0.8)).toBe(0.5);
  expect(against(-0.5, 0.8)).toBe(-0.5);
});

test('the verdict weight does not apply to rewards or to verdicts alone', () => {
  const settings = { rules: 2, method: 'combine', verdictWeight: 0.2 } as const;
  expect(weightOfVerdict(vote, settings)).toBe(0.2);
  expect(weightOfVerdict(vote, { ...settings, method: 'binary' })).toBe(1);
  expect(weightOfVerdict(reward, settings)).toBe(1);
  expect(weightOfVerdict({ ...vote, advantage: 1 }, settings)).toBe(1);
});

test('a batch of earlier rules has one baseline and one weight', () => {
  const old = {
    rules: 1,
    baseline: true,
    leastBaseline: -1,
    baselineDecay: 0,
    method: 'binary',
    verdictWeight: 0.2,
  } as const;
  const [soft, call] = [
    { ...vote, verdict: 1 / 3, soft: true },
    { ...vote, verdict: -1, evidence: 'tool' as const },
  ];
  const baselines = { value: 0.9, count: 4 };
  expect(sampleAdvantage(soft, baselines, old)).toBeCloseTo(1 / 3 - 0.9, 12);
  expect(sampleAdvantage(call, baselines, old)).toBe(-1.9);
  expect(sampleAdvantage(reward, baselines, old)).toBe(-0.4);
  expect(baselinesAfter(baselines, [vote, call, { ...reward, verdict: 0 }], old)).toEqual({
    value: 0,
    count: 7,
  });
  expect([vote, reward].map((sample) => weightOfVerdict(sample, old))).toEqual([0.2, 0.2]);
});

const liked = sampleData('liked', { tokens: { responseIds: [4], logProbs: [Math.log(1 / 5)] } });
const run = async (samples: readonly ReturnType<typeof sampleData>[], parent?: Candidate) => {
  const input = { parent, batch: batchData(parent ? 2 : 1, samples, { rank: 2, alpha: 2 }), samples };
  return (await step(localTraining(toyEngine), input)) as Candidate;
};

test('a step learns from a reward of 0 below the baseline, or from an advantage instead', async () => {
  const parent: Candidate = {
    ...(await run([{ ...liked, source: 'reward' }])),
    optimizer: emptyAdamWState(),
  };
  const before = toyLogProbs(parent.adapter)[4]!;
  const usual = parent.baseline.reward!.value;
  expect(usual).toBeGreaterThan(0);
  const zero = await run([{ ...liked, version: 1, verdict: 0, source: 'reward' }], parent);
  expect(zero.metrics.advantage).toBeCloseTo(-usual, 12);
  expect(toyLogProbs(zero.adapter)[4]).toBeLessThan(before);
  expect(zero.baseline.reward!.count).toBe(2);
  const worse = await run([{ ...liked, version: 1, verdict: 1, source: 'reward', advantage: -1 }], parent);
  expect(worse.metrics.advantage).toBe(-1);
  expect(toyLogProbs(worse.adapter)[4]).toBeLessThan(before);
  expect(worse.baseline).toEqual(parent.baseline);
});

test('the same batch of rewards gives the same bits again', async () => {
  const samples = [
    { ...liked, source: 'reward' as const, verdict: 0 },
    { ...liked, source: 'reward' as const, advantage: 2 },
  ];
  const bits = ({ adapter }: Candidate) => [...adapter.tensors.values()].map(({ values }) => [...values]);
  expect(bits(await run(samples))).toEqual(bits(await run(samples)));
});

test('an implicit verdict weighs less than an explicit one, with every method', () => {
  const weak = { source: 'implicit', advantage: -0.25 } as const;
  for (const method of ['combine', 'binary'] as const) {
    const settings = { rules: 2, method, verdictWeight: 0.2 };
    const pull = Math.abs(weak.advantage) * weightOfVerdict(weak, settings);
    expect(pull).toBeCloseTo(0.25 * weightOfVerdict({ source: 'votes' }, settings), 12);
  }
});
