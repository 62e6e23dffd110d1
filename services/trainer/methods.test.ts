import { expect, test } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import {
  drawToken,
  HINT_LOGITS,
  klDivergence,
  TOY_VOCABULARY,
  toyEngine,
  toyLogProbs,
} from './testing/toy-engine.ts';

/** The three methods on a toy whose optimum is known. */

const hints = ['answer as the hint says'];
const hinted = toyLogProbs(undefined, 1, HINT_LOGITS);

/** Steps on answers of one token, each batch sampled from the policy as it then is. */
async function learn(
  steps: number,
  changes: Partial<TrainingSettings>,
  labelOf: (id: number) => Partial<Pick<SampleReady['data'], 'verdict' | 'hints'>>,
): Promise<Candidate> {
  const random = createRandom('toy');
  let parent: Candidate | undefined;
  for (let n = 1; n <= steps; n++) {
    const now = toyLogProbs(parent?.adapter);
    const samples = Array.from({ length: 32 }, (_, index) => {
      const id = drawToken(now, random);
      const tokens = { responseIds: [id], logProbs: [now[id]!] };
      return sampleData(`${n}/${index}`, { verdict: 0, version: n - 1, ...labelOf(id), tokens });
    });
    const settings = { rank: 2, alpha: 2, gateMeanKl: 100, ...changes };
    const result = await step(localTraining(toyEngine), {
      parent,
      batch: batchData(n, samples, settings),
      samples,
    });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    parent = result;
  }
  return parent!;
}

const liked = 3;
const disliked = 0;
const verdictOf = (id: number) => (id === liked ? 1 : id === disliked ? -1 : 0);

test('binary: rewarded answers become more likely, punished ones less likely', async () => {
  const after = toyLogProbs(
    (await learn(40, { method: 'binary', learningRate: 0.05 }, (id) => ({ verdict: verdictOf(id) }))).adapter,
  );
  expect(Math.exp(after[liked]!)).toBeGreaterThan(0.6);
  expect(Math.exp(after[disliked]!)).toBeLessThan(0.05);
});

test("opd: the policy converges to the hinted teacher's distribution", async () => {
  const settings = { method: 'opd', learningRate: 0.03, teacher: 'base', baseline: false } as const;
  const before = klDivergence(toyLogProbs(undefined), hinted);
  const after = async (steps: number) =>
    klDivergence(toyLogProbs((await learn(steps, settings, () => ({ verdict: -1, hints }))).adapter), hinted);
  expect(await after(60)).toBeLessThan(0.1 * before);
  expect(await after(180)).toBeLessThan(0.1 * before);
});

test('combine: verdict and hint both count', async () => {
  const settings = { method: 'combine', learningRate: 0.03, teacher: 'base', baseline: false } as const;
  const judged = (id: number) => ({ verdict: verdictOf(id), hints });
  const by = async (weights: Partial<TrainingSettings>) =>
    toyLogProbs((await learn(60, { ...settings, ...weights }, judged)).adapter);
  const [both, hintsAlone] = [await by({}), await by({ verdictWeight: 0 })];
  expect(klDivergence(hintsAlone, hinted)).toBeLessThan(0.1 * klDivergence(toyLogProbs(undefined), hinted));
  expect(both[liked]! - hintsAlone[liked]!).toBeGreaterThan(0.5);
  expect(both[disliked]! - hintsAlone[disliked]!).toBeLessThan(-0.5);
  // Tokens that were neither praised nor blamed keep the teacher's proportions.
  const between = (logProbs: Float64Array) => logProbs[2]! - logProbs[1]!;
  expect(Math.abs(between(both) - between(hinted))).toBeLessThan(0.5);
});

const gradientsOf = async (samples: readonly SampleReady['data'][], changes: Partial<TrainingSettings>) => {
  const seen: (readonly number[])[] = [];
  const engine: LearningEngine = {
    ...toyEngine,
    gradients: (file, sequences, byLogProbs, candidates) => {
      return toyEngine.gradients(
        file,
        sequences,
        (...made) => {
          const slopes = byLogProbs(...made);
          seen.push(...slopes.sampled.map((row) => Array.from(row)));
          return slopes;
        },
        candidates,
      );
    },
  };
  const batch = batchData(1, samples, { rank: 2, alpha: 2, ...changes });
  return {
    seen,
    result: (await step(localTraining(engine), { parent: undefined, batch, samples })) as Candidate,
  };
};
const uniform = Math.log(1 / TOY_VOCABULARY);
const answer = (id: number, changes: Parameters<typeof sampleData>[1] = {}) =>
  sampleData(`turn ${id}`, { ...changes, tokens: { responseIds: [id], logProbs: [uniform] } });

test('combine: a hint alone, a verdict alone, both, and neither, which has no share', async () => {
  const samples = [
    answer(0, { verdict: 0, hints }),
    answer(1, { verdict: -1 }),
    answer(2, { verdict: 1, hints }),
    answer(3, { verdict: 0 }),
  ];
  const { seen, result } = await gradientsOf(samples, { method: 'combine' });
  const gap = (id: number) => hinted[id]! - uniform;
  [-gap(0) / 3, 1 / 3, -(1 + gap(2)) / 3, 0].forEach((slope, index) => {
    expect(seen[index]![0]).toBeCloseTo(slope, 6);
  });
  expect(result.metrics).toMatchObject({ hintsUsed: 2, templateDrift: 0 });
  // Only verdicts move the baseline.
  expect(result.baseline.count).toBe(2);
});

test.each(['binary', 'opd', 'combine'] as const)(
  '%s: tokens that were not sampled, such as the prompt (1, 2, 3), keep their proportions',
  async (method) => {
    const { seen, result } = await gradientsOf(
      [answer(4, { verdict: 1, hints }), answer(2, { verdict: 0 })],
      {
        method,
      },
    );
    expect(seen.map((row) => row.length)).toEqual([1, 1]);
    expect(seen[1]).toEqual([0]);
    const after = toyLogProbs(result.adapter);
    expect(after[4]).not.toBe(uniform);
    expect([after[1], after[2], after[3]]).toEqual([after[0], after[0], after[0]]);
  },
);

test('opd ignores the verdict, and binary ignores the hint', async () => {
  const both = [answer(2, { verdict: 1, hints })];
  expect((await gradientsOf(both, { method: 'opd' })).seen[0]![0]).toBeCloseTo(-(hinted[2]! - uniform), 6);
  const binary = await gradientsOf(both, { method: 'binary' });
  expect(binary.seen[0]![0]).toBeCloseTo(-1, 6);
  expect(binary.result.metrics).not.toHaveProperty('hintsUsed');
});

test('after template drift only the verdict trains, and the sample is counted', async () => {
  const engine: LearningEngine = { ...toyEngine, writePrompt: () => [7] };
  const samples = [answer(2, { verdict: 1, hints })];
  const of = async (from: LearningEngine, hint: readonly string[]) =>
    (await step(localTraining(from), {
      parent: undefined,
      batch: batchData(1, samples),
      samples: samples.map((sample) => ({ ...sample, hints: hint })),
    })) as Candidate;
  const drifted = await of(engine, hints);
  expect(drifted.metrics).toMatchObject({ templateDrift: 1, hintsUsed: 0 });
  expect(drifted.adapter).toEqual((await of(toyEngine, [])).adapter);
});

test('the gap of one token is bounded', async () => {
  const sure = sampleData('sure', { verdict: 0, hints, tokens: { responseIds: [3], logProbs: [uniform] } });
  const { seen } = await gradientsOf([sure], { method: 'combine', gapClip: 0.1 });
  expect(seen[0]![0]).toBeCloseTo(0.1, 6);
});

test('a complaint whose hint teaches moves the policy by the hint alone, one without a hint by its verdict', async () => {
  const weightsAfter = async (changes: Partial<TrainingSettings>, of: Partial<SampleReady['data']>) => {
    const record = sampleData('complaint', { verdict: -1, hints, ...of });
    const result = await step(localTraining(toyEngine), {
      parent: undefined,
      batch: batchData(1, [record], { ...changes, distillation: 'topk' }),
      samples: [record],
    });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    return [...result.adapter.tensors.values()].map(({ values }) => [...values]);
  };
  const [told, blamed] = [{ hintedComplaintWeight: 0 }, { hintedComplaintWeight: 1 }];
  const byHint = await weightsAfter({ method: 'opd' }, {});
  expect(await weightsAfter(told, {})).toEqual(byHint);
  expect(await weightsAfter(blamed, {})).not.toEqual(byHint);
  expect(await weightsAfter(told, { hints: [] })).toEqual(await weightsAfter(blamed, { hints: [] }));
  expect(await weightsAfter(told, { verdict: 1 })).toEqual(await weightsAfter(blamed, { verdict: 1 }));
});
