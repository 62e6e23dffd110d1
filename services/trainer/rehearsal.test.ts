import { expect, test } from 'vitest';
import { createRandom } from '../../shared/policy/random.ts';
import type { LearningEngine } from './learning-engine.ts';
import { rehearse, withoutConflict } from './rehearsal.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { drawToken, TOY_VOCABULARY, toyEngine, toyLogProbs } from './testing/toy-engine.ts';

/** The toy as one that answers: it cannot tell a request with a wish from another, so that what is rehearsed holds it back. */
const speaking: LearningEngine = {
  ...toyEngine,
  contextTokens: 256,
  speech: {
    canaries: ['a'],
    rehearsed: ['a request', 'another request'],
    read: (ids) => ids.join(' '),
    sample: (file, { prompts, seed, tokens }) =>
      prompts.map((_, index) => {
        const random = createRandom(`${seed}/${index}`);
        const ids = Array.from({ length: Math.min(4, tokens) }, () => drawToken(toyLogProbs(file), random));
        return { ids, ended: false, temperature: 1 };
      }),
  },
};
const praised = [sampleData('a', { tokens: { responseIds: [4], logProbs: [Math.log(1 / TOY_VOCABULARY)] } })];
const learn = (engine: LearningEngine, steps: number, changes = {}): Candidate => {
  let parent: Candidate | undefined;
  for (let n = 1; n <= steps; n++) {
    const settings = { rank: 2, alpha: 2, learningRate: 0.05, gateMeanKl: 100, baseline: false, ...changes };
    const batch = batchData(n, praised, settings);
    const result = step(engine, { parent, batch, samples: praised });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    parent = result;
  }
  return parent!;
};

test('what is rehearsed holds the policy near the base, and says how far it is', () => {
  const [alone, held] = [learn(speaking, 30), learn(speaking, 30, { rehearsal: 8, rehearsalWeight: 4 })];
  expect(held.metrics.klToBase).toBeLessThan(alone.metrics.klToBase! / 2);
  expect(toyLogProbs(held.adapter)[4]).toBeGreaterThan(toyLogProbs(undefined)[4]!);
  expect(held.metrics.rehearsalKl).toBeGreaterThan(0);
  expect(alone.metrics).not.toHaveProperty('rehearsalKl');
});

test('nothing is rehearsed without a number, or by an engine that answers nobody', () => {
  expect(rehearse(speaking, { rehearsal: 0, topK: 4 }, 1)).toBeUndefined();
  expect(rehearse(toyEngine, { rehearsal: 4, topK: 4 }, 1)).toBeUndefined();
  expect(learn(toyEngine, 2, { rehearsal: 4 }).adapter).toEqual(learn(toyEngine, 2).adapter);
});

test('the same seed rehearses the same, another one something else', () => {
  const answers = (seed: number) =>
    rehearse(speaking, { rehearsal: 4, topK: 3 }, seed)!.samples.map(({ sequence }) => sequence.responseIds);
  expect(answers(1)).toEqual(answers(1));
  expect(answers(2)).not.toEqual(answers(1));
  expect(answers(1)).toHaveLength(4);
});

test('with a bound, the batch alone decides until the policy is that far from the base', () => {
  // steps as long as their gradient, as claw-nano's
  const short = { learningRate: 1, epsilon: 1, beta1: 0 };
  const alone = learn(speaking, 60, short);
  expect(learn(speaking, 60, { ...short, rehearsal: 8, rehearsalBound: 100 }).adapter).toEqual(alone.adapter);
  const held = learn(speaking, 60, { ...short, rehearsal: 32, rehearsalBound: 0.05 });
  expect(held.metrics.klToBase).toBeLessThan(alone.metrics.klToBase! / 2);
  expect(held.metrics.rehearsalKl).toBeGreaterThan(0.05);
  expect(toyLogProbs(held.adapter)[4]).toBeGreaterThan(toyLogProbs(undefined)[4]!);
});

test('what goes against the rehearsed gradient is taken out of a gradient, and nothing else', () => {
  const of = (a: readonly number[], b: readonly number[]) =>
    new Map([
      ['a', Float32Array.from(a)],
      ['b', Float32Array.from(b)],
    ]);
  const against = of([3, -1], [2, 0]);
  withoutConflict(against, of([-1, 0], [0, 5]));
  // 3 of 26 along [-1, 0 | 0, 5] taken out: (g.r) = -3, r.r = 26
  expect([...against.get('a')!]).toEqual([Math.fround(3 - 3 / 26), -1]);
  expect([...against.get('b')!]).toEqual([2, Math.fround(15 / 26)]);
  const along = of([1, 0], [0, 1]);
  withoutConflict(along, of([2, 7], [0, 0]));
  expect(along).toEqual(of([1, 0], [0, 1]));
  withoutConflict(along, of([0, 0], [0, 0]));
  expect(along).toEqual(of([1, 0], [0, 1]));
});
