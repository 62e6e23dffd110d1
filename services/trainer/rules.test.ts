import { expect, test } from 'vitest';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { momentsOf } from './testing/moments.ts';
import { HINT_LOGITS, toyEngine, toyLogProbs } from './testing/toy-engine.ts';
import { watchSlopes } from './testing/watch-slopes.ts';

/** A step with a batch of the current rules, and with one of earlier rules. */

type Sample = SampleReady['data'];
const uniform = Math.log(1 / 5);
const hints = ['answer as the hint says'];
const hinted = toyLogProbs(undefined, 1, HINT_LOGITS);
const answer = (id: number, changes: Partial<Omit<Sample, 'tokens'>> = {}): Sample =>
  sampleData(`turn ${id}`, { ...changes, tokens: { responseIds: [id], logProbs: [uniform] } });

type Changes = Partial<TrainingSettings>;
type Given = { readonly parent?: Candidate; readonly earlier?: boolean; readonly engine?: LearningEngine };

async function run(
  samples: readonly Sample[],
  changes: Changes = {},
  { parent, earlier = false, engine = toyEngine }: Given = {},
) {
  const batch = batchData(parent === undefined ? 1 : 2, samples, { rank: 2, alpha: 2, ...changes });
  const { rules, fade, klEstimator, ...before } = batch.settings;
  const settings = earlier ? (before as BatchSubmitted['data']['settings']) : batch.settings;
  return step(localTraining(engine), { parent, batch: { ...batch, settings }, samples });
}

async function candidate(...input: Parameters<typeof run>): Promise<Candidate> {
  const result = await run(...input);
  if (result.kind !== 'candidate') throw new Error(result.detail);
  return result;
}

/** d loss / d log p of each sample's token, in the order of the batch. */
async function slopesOf(
  samples: readonly Sample[],
  changes: Changes,
  given: Given = {},
): Promise<readonly number[]> {
  const { engine, seen } = watchSlopes();
  await candidate(samples, changes, { ...given, engine });
  return seen.flatMap(({ sampled }) => sampled.map((row) => row[0]!));
}

const bitsOf = ({ adapter, optimizer }: Candidate) => ({
  adapter: [...adapter.tensors.values()].map(({ values }) => [...values]),
  moments: [...momentsOf(optimizer).first.values(), ...momentsOf(optimizer).second.values()].map((values) => [
    ...values,
  ]),
  step: optimizer.step,
});

test('binary learns from full verdicts, whatever they would weigh against a hint', async () => {
  const settings = { method: 'binary', verdictWeight: 0.2 } as const;
  expect((await slopesOf([answer(2, { verdict: 1 })], settings))[0]).toBeCloseTo(-1, 6);
  expect((await slopesOf([answer(2, { verdict: 1 })], settings, { earlier: true }))[0]).toBeCloseTo(-0.2, 6);
});

test('opd uses the configured hint weight', async () => {
  const settings = { method: 'opd', hintWeight: 2 } as const;
  const gap = hinted[2]! - uniform;
  expect((await slopesOf([answer(2, { hints })], settings))[0]).toBeCloseTo(-2 * gap, 6);
  expect((await slopesOf([answer(2, { hints })], settings, { earlier: true }))[0]).toBeCloseTo(-gap, 6);
});

test("combine: rewards and advantages weigh 1, people's verdicts weigh less", async () => {
  const samples = [
    answer(1, { verdict: 1 }),
    answer(2, { verdict: 0.5, source: 'reward' }),
    answer(3, { verdict: 0, source: 'reward', advantage: -1 }),
  ];
  const settings = { method: 'combine', verdictWeight: 0.2 } as const;
  const expected = (weights: readonly number[]) =>
    [1, 0.5, -1].map((advantage, index) => (-advantage * weights[index]!) / 3);
  const close = (slopes: readonly number[], weights: readonly number[]) =>
    expected(weights).forEach((slope, index) => void expect(slopes[index]).toBeCloseTo(slope, 6));
  close(await slopesOf(samples, settings), [0.2, 1, 1]);
  close(await slopesOf(samples, settings, { earlier: true }), [0.2, 0.2, 0.2]);
});

const moving = { learningRate: 0.05, gateMeanKl: 100, weightDecay: 0.1 } as const;
const silent = answer(1, { verdict: 0, version: 1 });

test('a batch that teaches nothing makes no version, although momentum would move it', async () => {
  const parent = await candidate([answer(4, { verdict: 1 }), answer(2, { verdict: -1 })], moving);
  const before = structuredClone(bitsOf(parent));
  expect(await run([silent], { ...moving, method: 'combine' }, { parent })).toMatchObject({
    kind: 'nothing-learned',
    detail: 'the batch of 1 has no gradient: nothing in it teaches',
  });
  expect(bitsOf(parent)).toEqual(before);
  const earlier = await candidate([silent], { ...moving, method: 'combine' }, { parent, earlier: true });
  expect(toyLogProbs(earlier.adapter)).not.toEqual(toyLogProbs(parent.adapter));
});

test('a minibatch that teaches nothing takes no step', async () => {
  const parent = await candidate([answer(4, { verdict: 1 }), answer(2, { verdict: -1 })], moving);
  const liked = answer(3, { verdict: 1, version: 1 });
  const [alone, beside] = [
    await candidate([liked], moving, { parent }),
    await candidate([liked, silent], { ...moving, minibatches: 2 }, { parent }),
  ];
  expect(bitsOf(beside)).toEqual(bitsOf(alone));
});

test('decay applies to B alone, because a zero A could never learn again', async () => {
  const first = async (settings: Changes, given: Given = {}) => {
    const { adapter } = await candidate([answer(4)], { ...settings, learningRate: 0.1 }, given);
    return [...adapter.tensors].find(([name]) => name.includes('lora_A'))![1].values;
  };
  // While B is 0, so is the gradient of A, and only decay can move A.
  const start = await first({ weightDecay: 0 });
  expect(await first({ weightDecay: 0.5 })).toEqual(start);
  const earlier = await first({ weightDecay: 0.5 }, { earlier: true });
  start.forEach((value, index) => void expect(earlier[index]).toBeCloseTo(value * (1 - 0.05), 6));
});

test('a batch of earlier rules uses its own form of KL to the base', async () => {
  const parent = await candidate([answer(4), answer(2, { verdict: -1 })], { ...moving, weightDecay: 0 });
  const settings = { klCoefficient: 1, verdictWeight: 0, method: 'combine' } as const;
  const recorded = [answer(4, { version: 1 })];
  const gap = toyLogProbs(parent.adapter)[4]! - uniform;
  expect((await slopesOf(recorded, settings, { parent }))[0]).toBeCloseTo(gap, 5);
  expect((await slopesOf(recorded, settings, { parent, earlier: true }))[0]).toBeCloseTo(
    1 - Math.exp(-gap),
    5,
  );
});

test('after a change of mind the later verdict prevails', async () => {
  const mind = (verdict: number) => answer(3, { verdict, key: 'a person' });
  const settings = { baseline: false, fade: 0.5 };
  const after = async (samples: readonly Sample[], changes: Changes = settings) =>
    toyLogProbs((await candidate(samples, { ...changes, learningRate: 0.05 })).adapter)[3]! - uniform;
  expect(await after([mind(-1), mind(1)])).toBeGreaterThan(0.01);
  expect(await after([mind(1), mind(-1)])).toBeLessThan(-0.01);
  // Three earlier verdicts against a later one: 1/8 + 1/4 + 1/2 < 1.
  expect(await after([mind(-1), mind(-1), mind(-1), mind(1)])).toBeGreaterThan(0.01);
  const [before, now] = await slopesOf([mind(-1), mind(1)], settings);
  expect(before).toBeCloseTo(1 / 3, 6);
  expect(now).toBeCloseTo(-2 / 3, 6);
  // With equal weights they cancel out.
  expect((await run([mind(-1), mind(1)], { ...settings, fade: 1 })).kind).toBe('nothing-learned');
});
