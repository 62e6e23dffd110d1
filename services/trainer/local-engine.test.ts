import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkpointDigest } from '../../shared/policy/checkpoints/state.ts';
import { type Executor, openBackend } from '../../shared/policy/executors/backend.ts';
import { initialWeights } from '../../shared/policy/model/initialise.ts';
import { loadPolicy, type Policy, weightsInMemory } from '../../shared/policy/model/policy.ts';
import { describeOnBackends, largestDifference } from '../../shared/policy/testing/backends.ts';
import { logSoftmax } from '../../shared/policy/testing/distribution.ts';
import { smallConfig } from '../../shared/policy/testing/model.ts';
import { hintMarker } from '../../shared/policy/text/hint.ts';
import type { LearningEngine, LogProbs } from './learning-engine.ts';
import { localEngine } from './local-engine.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { momentsOf } from './testing/moments.ts';

const config = {
  ...smallConfig,
  vocabularySize: 48,
  hiddenSize: 32,
  heads: 2,
  keyValueHeads: 1,
  headSize: 16,
  intermediateSize: 48,
  maxPositions: 64,
};

let executor: Executor;
let policy: Policy;
let engine: LearningEngine;
beforeAll(async () => {
  executor = await openBackend('wasm');
  policy = await loadPolicy(weightsInMemory(config, initialWeights(config, 1)), executor);
  engine = localEngine(
    policy,
    ({ messages }) => (JSON.stringify(messages).includes(hintMarker) ? [1, 2, 3, 30] : [1, 2, 3]),
    () => Promise.reject(new Error('there is no other teacher')),
  );
});
afterAll(() => policy.dispose());

/** Two prompts, each with a liked and a disliked answer, of different lengths and temperatures. */
const sampled = () => {
  const sample = (
    [id, verdict]: readonly [id: string, verdict: number],
    promptIds: number[],
    responseIds: number[],
    temperature: number,
  ) => {
    const [logProbs] = engine.score(undefined, [{ promptIds, responseIds, temperature }]);
    return sampleData(id, {
      verdict,
      tokens: { promptIds, responseIds, logProbs: [...logProbs!], effectiveTemperature: temperature },
    });
  };
  return [
    sample(['a', 1], [1, 2, 3], [10, 11, 12, 0], 1),
    sample(['b', -1], [1, 2, 3], [20, 21], 0.7),
    sample(['c', 1], [5, 6, 7, 8, 9], [10, 11], 0.7),
    sample(['d', -1], [5, 6, 7, 8, 9], [20, 21, 22, 23, 0], 1),
  ];
};

async function train(n: number, parent: Candidate | undefined, changes = {}): Promise<Candidate> {
  const samples = sampled();
  const result = await step(localTraining(engine), {
    parent,
    batch: batchData(n, samples, changes),
    samples,
  });
  if (result.kind !== 'candidate') throw new Error(result.detail);
  return result;
}

test('liked answers become more likely and disliked ones less likely, step after step', async () => {
  const sequences = sampled().map(({ tokens }) => ({ ...tokens, temperature: tokens.effectiveTemperature }));
  const total = (parent: Candidate | undefined) =>
    engine.score(parent?.adapter, sequences).map((row) => row.reduce((sum, logProb) => sum + logProb, 0));
  const before = total(undefined);
  let parent: Candidate | undefined;
  for (let n = 1; n <= 3; n++) parent = await train(n, parent, { gateMeanKl: 100 });
  const after = total(parent);
  [1, -1, 1, -1].forEach((verdict, index) => {
    expect((after[index]! - before[index]!) * verdict).toBeGreaterThan(0.1);
  });
});

test('serving and training agree on sampled tokens, and the first ratio is exactly 1', async () => {
  const { metrics } = await train(1, undefined);
  expect(metrics.logProbDriftMax).toBeLessThan(1e-4);
  expect(metrics.ratio).toBeCloseTo(1, 12);
  expect(metrics.meanKl).toBeGreaterThan(0);
});

test('the same step gives the same digest; more minibatches give another', async () => {
  const first = await train(1, undefined);
  expect(checkpointDigest(await train(1, undefined))).toBe(checkpointDigest(first));
  expect(checkpointDigest(await train(1, undefined, { minibatches: 2 }))).not.toBe(checkpointDigest(first));
});

test('full training gives the same bits each time, and KL holds it to the unchanged base', async () => {
  const changes = { training: 'full', learningRate: 1e-3, klCoefficient: 0.1, gateMeanKl: 100 } as const;
  const all = sampled().map(({ tokens }) => ({ ...tokens, temperature: tokens.effectiveTemperature }));
  const base = engine.score(undefined, all);
  const tensors = executor.tensorCount();
  const twice = async () => train(2, await train(1, undefined, changes), { ...changes, minibatches: 2 });
  const second = await twice();
  expect(second.adapter.kind).toBe('full');
  expect(second.optimizer.step).toBe(3);
  expect(second.metrics.klToBase).toBeGreaterThan(0);
  expect(second.metrics.meanKl).toBeGreaterThan(0);
  expect(checkpointDigest(await twice())).toBe(checkpointDigest(second));
  expect(engine.score(undefined, all)).toEqual(base);
  const liked = (rows: LogProbs) => rows[0]!.reduce((sum, logProb) => sum + logProb, 0);
  expect(liked(engine.score(second.adapter, all))).toBeGreaterThan(liked(base));
  expect(executor.tensorCount()).toBe(tensors);
});

test('neither ten steps nor a failed step leak tensors', async () => {
  let parent = await train(1, undefined, { klCoefficient: 0.1, minibatches: 2 });
  const tensors = executor.tensorCount();
  for (let n = 2; n <= 10; n++)
    parent = await train(n, parent, { klCoefficient: 0.1, minibatches: 2, gateMeanKl: 100 });
  expect(() =>
    engine.gradients(parent.adapter, [{ promptIds: [1], responseIds: [2] }], () => {
      throw new Error('in the middle');
    }),
  ).toThrow('in the middle');
  expect(executor.tensorCount()).toBe(tensors);
});

test('the gradient in smaller parts is the same, except for the last bits', async () => {
  const [whole, parts] = [await train(1, undefined), await train(1, undefined, { microbatchTokens: 8 })];
  expect(
    engine.parts(
      sampled().map(({ tokens }) => tokens),
      8,
    ).length,
  ).toBeGreaterThan(1);
  expect(parts.metrics.gradientNorm).toBeCloseTo(whole.metrics.gradientNorm!, 6);
  expect(parts.metrics.loss).toBeCloseTo(whole.metrics.loss!, 9);
  for (const [name, moments] of momentsOf(whole.optimizer).first)
    expect(largestDifference(moments, momentsOf(parts.optimizer).first.get(name)!), name).toBeLessThan(1e-7);
});

describe.each(['topk', 'overlap'] as const)('distillation %s', (distillation) => {
  const changes = { method: 'opd', distillation, topK: 40, teacher: 'base', gateMeanKl: 100 } as const;
  const hinted = (hints: readonly string[]) =>
    sampled()
      .slice(0, 2)
      .map((sample) => ({ ...sample, hints }));
  const learn = async (
    n: number,
    parent: Candidate | undefined,
    hints = ['a hint that is read'],
    more = {},
  ): Promise<Candidate> => {
    const samples = hinted(hints);
    const settings = { ...changes, learningRate: 5e-3, ...more };
    const result = await step(localTraining(engine), {
      parent,
      batch: batchData(n, samples, settings),
      samples,
    });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    return result;
  };

  test("the policy converges to the hinted teacher's distribution, without leaking tensors", async () => {
    let parent = await learn(1, undefined);
    const tensors = executor.tensorCount();
    for (let n = 2; n <= 30; n++) parent = await learn(n, parent);
    expect(executor.tensorCount()).toBe(tensors);
    const everything = { count: config.vocabularySize };
    const klOf = (candidate: Candidate | undefined) => {
      const sequences = hinted([]).map(({ tokens }) => ({
        ...tokens,
        temperature: tokens.effectiveTemperature,
      }));
      const own = engine.distributions(candidate?.adapter, sequences, everything);
      const requested = own.map(({ topIds }) => topIds);
      const teacher = engine.distributions(
        undefined,
        sequences.map((sequence) => ({ ...sequence, promptIds: [1, 2, 3, 30] })),
        { ...everything, requested },
      );
      return own
        .flatMap(({ top }, n) =>
          Array.from(top, (logProb, j) => Math.exp(logProb) * (logProb - teacher[n]!.requested[j]!)),
        )
        .reduce((sum, part) => sum + part, 0);
    };
    expect(klOf(parent)).toBeLessThan(0.1 * klOf(undefined));
  });

  test('the same step gives the same digest with several hints and minibatches, too', async () => {
    const first = checkpointDigest(await learn(1, undefined));
    expect(checkpointDigest(await learn(1, undefined))).toBe(first);
    const more = async () =>
      checkpointDigest(
        await learn(1, undefined, ['a hint that is read', 'another hint'], { minibatches: 2 }),
      );
    expect(await more()).toBe(await more());
    expect(await more()).not.toBe(first);
  });
});

test('an anchored distribution is the normalised geometric mean of two', async () => {
  const parent = await train(2, await train(1, undefined, { gateMeanKl: 100 }), { gateMeanKl: 100 });
  const sequences = sampled().map(({ tokens }) => ({ ...tokens, temperature: tokens.effectiveTemperature }));
  const everyId = sequences.map(({ responseIds }) =>
    Int32Array.from(responseIds.flatMap(() => Array.from({ length: config.vocabularySize }, (_, id) => id))),
  );
  const request = { count: config.vocabularySize, requested: everyId };
  const [own, base] = [parent.adapter, undefined].map((file) =>
    engine.distributions(file, sequences, request),
  );
  const made = engine.distributions(parent.adapter, sequences, { ...request, anchor: 0.3 });
  made.forEach(({ requested, sampled: chosen }, n) => {
    sequences[n]!.responseIds.forEach((id, t) => {
      const row = (from: Float32Array) =>
        from.subarray(t * config.vocabularySize, (t + 1) * config.vocabularySize);
      const mean = logSoftmax(
        row(own![n]!.requested).map((p, v) => 0.7 * p + 0.3 * row(base![n]!.requested)[v]!),
      );
      expect(largestDifference(Float32Array.from(mean), row(requested))).toBeLessThan(1e-4);
      expect(chosen[t]).toBeCloseTo(mean[id]!, 4);
    });
  });
  expect(engine.distributions(undefined, sequences, { ...request, anchor: 0.3 })).toEqual(base);
});

describeOnBackends('parts', (open) => {
  test('sequences of one part go through the model together with their candidates', async () => {
    const own = await loadPolicy(weightsInMemory(config, initialWeights(config, 1)), await open());
    const parted = localEngine(
      own,
      () => [],
      () => Promise.reject(new Error('there is no other teacher')),
    );
    // The padding of these lengths decides how many fit.
    const sequences = [577, 578, 579, 580, 581, 582, 583].map((length) => ({
      promptIds: Array.from({ length: length - 2 }, (_, i) => i % 40),
      responseIds: [5, 6],
    }));
    const file = parted.createAdapter({ training: 'lora', rank: 1, alpha: 1, seed: 1 });
    for (const members of parted.parts(sequences)) {
      const part = members.map((index) => sequences[index]!);
      const ids = part.map(() => Int32Array.of(1, 2, 3, 4));
      const learn = (logProbs: LogProbs) => ({
        sampled: logProbs.map(() => [1, 1]),
        candidates: ids.map(() => [1, 1, 1, 1]),
      });
      const gradients = parted.gradients(file, part, learn, { count: 2, rest: true, ids });
      expect([...gradients.values()].every((values) => values.every(Number.isFinite))).toBe(true);
    }
    own.dispose();
  });
});
