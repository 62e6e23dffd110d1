import { expect, test } from 'vitest';
import { createRandom } from '../../shared/policy/model/random.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { rehearse, withoutConflict } from './rehearsal.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { drawToken, TOY_VOCABULARY, toyEngine, toyLogProbs } from './testing/toy-engine.ts';

/**
 * The toy with speech. It cannot distinguish a request with a wish from another, so rehearsal holds it back.
 */
const speaking: LearningEngine = {
  ...toyEngine,
  contextTokens: 256,
  speech: {
    gateRequests: ['a'],
    wideRequests: [],
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
const learn = async (engine: LearningEngine, steps: number, changes = {}): Promise<Candidate> => {
  let parent: Candidate | undefined;
  for (let n = 1; n <= steps; n++) {
    const settings = { rank: 2, alpha: 2, learningRate: 0.05, gateMeanKl: 100, baseline: false, ...changes };
    const batch = batchData(n, praised, settings);
    const result = await step(localTraining(engine), { parent, batch, samples: praised });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    parent = result;
  }
  return parent!;
};

test('rehearsal holds the policy near the base and reports the distance', async () => {
  const [alone, rehearsed] = [
    await learn(speaking, 30),
    await learn(speaking, 30, { rehearsal: 8, rehearsalWeight: 4 }),
  ];
  expect(rehearsed.metrics.klToBase).toBeLessThan(alone.metrics.klToBase! / 2);
  expect(toyLogProbs(rehearsed.adapter)[4]).toBeGreaterThan(toyLogProbs(undefined)[4]!);
  expect(rehearsed.metrics.rehearsalKl).toBeGreaterThan(0);
  expect(alone.metrics).not.toHaveProperty('rehearsalKl');
});

test('nothing is rehearsed without a count, or if the engine cannot answer', async () => {
  expect(rehearse(speaking, { rehearsal: 0, topK: 4 }, 1)).toBeUndefined();
  expect(rehearse(toyEngine, { rehearsal: 4, topK: 4 }, 1)).toBeUndefined();
  expect((await learn(toyEngine, 2, { rehearsal: 4 })).adapter).toEqual((await learn(toyEngine, 2)).adapter);
});

test('the same seed gives the same rehearsal; another seed gives another', () => {
  const answers = (seed: number) =>
    rehearse(speaking, { rehearsal: 4, topK: 3 }, seed)!.samples.map(({ sequence }) => sequence.responseIds);
  expect(answers(1)).toEqual(answers(1));
  expect(answers(2)).not.toEqual(answers(1));
  expect(answers(1)).toHaveLength(4);
});

test('with a bound, only the batch decides until the policy is that far from the base', async () => {
  // Steps are as long as their gradient, as with claw-nano.
  const short = { learningRate: 1, epsilon: 1, beta1: 0 };
  const alone = await learn(speaking, 60, short);
  expect((await learn(speaking, 60, { ...short, rehearsal: 8, rehearsalBound: 100 })).adapter).toEqual(
    alone.adapter,
  );
  const bounded = await learn(speaking, 60, { ...short, rehearsal: 32, rehearsalBound: 0.05 });
  expect(bounded.metrics.klToBase).toBeLessThan(alone.metrics.klToBase! / 2);
  expect(bounded.metrics.rehearsalKl).toBeGreaterThan(0.05);
  expect(toyLogProbs(bounded.adapter)[4]).toBeGreaterThan(toyLogProbs(undefined)[4]!);
});

test('only the part of a gradient that conflicts with the rehearsal is removed', () => {
  const of = (a: readonly number[], b: readonly number[]) =>
    new Map([
      ['a', Float32Array.from(a)],
      ['b', Float32Array.from(b)],
    ]);
  const against = of([3, -1], [2, 0]);
  withoutConflict(against, of([-1, 0], [0, 5]));
  // Removes 3 / 26 along [-1, 0 | 0, 5]: (g.r) = -3, r.r = 26.
  expect([...against.get('a')!]).toEqual([Math.fround(3 - 3 / 26), -1]);
  expect([...against.get('b')!]).toEqual([2, Math.fround(15 / 26)]);
  const along = of([1, 0], [0, 1]);
  withoutConflict(along, of([2, 7], [0, 0]));
  expect(along).toEqual(of([1, 0], [0, 1]));
  withoutConflict(along, of([0, 0], [0, 0]));
  expect(along).toEqual(of([1, 0], [0, 1]));
});
