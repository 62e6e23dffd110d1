import { describe, expect, test } from 'vitest';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, split, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { momentsOf } from './testing/moments.ts';
import { toyEngine, toyLogProbs } from './testing/toy-engine.ts';
import { toyRemote } from './testing/toy-server.ts';
import type { TrainingEngine } from './trainee.ts';

/** The same step in this process and over the protocol of a training server. */
const places: readonly (readonly [string, (engine: LearningEngine) => TrainingEngine])[] = [
  ['in this process', localTraining],
  ['on a server', toyRemote],
];

describe.each(places)('%s', (place, trainingOf) => {
  const isLocal = place === 'in this process';
  const meanKl = isLocal ? 'meanKl' : 'meanKlSampled';
  const uniform = Math.log(1 / 5);
  const answer = (ids: readonly number[], verdict: number, version = 0) =>
    sampleData(`turn-${ids.join('-')}-${verdict}`, {
      verdict,
      version,
      tokens: { responseIds: ids, logProbs: ids.map(() => uniform) },
    });
  const liked = answer([4], 1);
  const disliked = answer([2], -1);

  const run = async (
    samples = [liked, disliked],
    changes: Partial<TrainingSettings> = {},
    { engine = toyEngine, parent = undefined as Candidate | undefined, n = 1 } = {},
  ) =>
    step(trainingOf(engine), {
      parent,
      batch: batchData(n, samples, { rank: 2, alpha: 2, ...changes }, n - 1),
      samples,
    });
  const candidate = async (...input: Parameters<typeof run>): Promise<Candidate> => {
    const result = await run(...input);
    if (result.kind !== 'candidate') throw new Error(result.detail);
    return result;
  };
  const numbersOf = ({ adapter, optimizer, baseline }: Candidate) => ({
    adapter: [...adapter.tensors.values()].map(({ values }) => [...values]),
    // A server does not give its moments away.
    optimizer: isLocal
      ? [...momentsOf(optimizer).first.values(), ...momentsOf(optimizer).second.values()].map((values) => [
          ...values,
        ])
      : [],
    step: optimizer.step,
    baseline,
  });

  test('the liked answer becomes more likely, the disliked one less likely', async () => {
    const after = toyLogProbs((await candidate()).adapter);
    expect(after[4]).toBeGreaterThan(uniform);
    expect(after[2]).toBeLessThan(uniform);
    // Tokens that were not sampled, including those of the prompt (1, 2, 3), stay equally likely.
    expect([after[1], after[3]]).toEqual([after[0], after[0]]);
  });

  test('a sample of half the weight has half the share of another', async () => {
    const shares: number[] = [];
    const engine: LearningEngine = {
      ...toyEngine,
      gradients: (file, sequences, byLogProbs) => {
        shares.push(
          ...byLogProbs(toyEngine.score(file, sequences), []).sampled.map((row) => Math.abs(row[0]!)),
        );
        return toyEngine.gradients(file, sequences, byLogProbs);
      },
    };
    await candidate([liked, { ...disliked, weight: 0.5 }], { microbatchTokens: 4096 }, { engine });
    expect(shares.toSorted()).toEqual([expect.closeTo(1 / 3, 6), expect.closeTo(2 / 3, 6)]);
  });

  test('the first step is REINFORCE: its gradient is advantage times score, worked out by hand', async () => {
    const engine: LearningEngine = {
      ...toyEngine,
      gradients: (file, sequences, byLogProbs) => {
        const { sampled: gradient } = byLogProbs(toyEngine.score(file, sequences), []);
        // two samples of one token each: a share of 1/2; behavior and prox agree, so the weight is 1
        const advantage = sequences[0]!.responseIds[0] === 4 ? 1 : -1;
        expect(gradient[0]![0]).toBeCloseTo(-advantage / 2, 6);
        return toyEngine.gradients(file, sequences, byLogProbs);
      },
    };
    const { metrics } = await candidate([liked, disliked], {}, { engine });
    expect(metrics).toMatchObject({ ratio: 1, clipFraction: 0, verdict: 0, advantage: 0, samples: 2 });
    expect(metrics.logProbDriftMax).toBeLessThan(1e-6);
  });

  test('the same input gives the same bits, another seed does not', async () => {
    expect(numbersOf(await candidate())).toEqual(numbersOf(await candidate()));
    expect(numbersOf(await candidate(undefined, {}, { n: 2 }))).not.toEqual(numbersOf(await candidate()));
  });

  test('the next version continues from the parent and leaves it unchanged', async () => {
    const first = await candidate();
    const before = structuredClone(numbersOf(first));
    const second = await candidate(undefined, { rank: 4 }, { parent: first, n: 2 });
    expect(numbersOf(first)).toEqual(before);
    expect(second.optimizer.step).toBe(2);
    expect(second.adapter).toMatchObject({ config: { rank: 2 } });
    expect(second.baseline.count).toBe(4);
    expect(toyLogProbs(second.adapter)[4]).toBeGreaterThan(toyLogProbs(first.adapter)[4]!);
  });

  test('verdicts are compared with the baseline before the batch', async () => {
    const first = await candidate([liked, answer([3], 1)]);
    expect(first.metrics.baseline).toBe(0);
    expect(first.baseline.value).toBeCloseTo(1 - 0.95 ** 2, 12);
    const second = await candidate([liked], {}, { parent: first, n: 2 });
    expect(second.metrics.advantage).toBeCloseTo(0.95 ** 2, 12);
    expect((await candidate([liked], { baseline: false }, { parent: first, n: 2 })).metrics.advantage).toBe(
      1,
    );
  });

  test('minibatches are disjoint, in order, one optimizer step each', async () => {
    expect(split([1, 2, 3, 4, 5], 2)).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    expect(split([1, 2], 4)).toEqual([[1], [2]]);
    const { optimizer, metrics } = await candidate([liked, disliked, answer([4], 1), answer([1], -1)], {
      minibatches: 2,
      learningRate: 0.3,
    });
    expect(optimizer.step).toBe(2);
    expect(metrics.ratio).not.toBe(1); // the second minibatch is a step away from prox
  });

  test('with several minibatches the ratio is clipped', async () => {
    const samples = Array.from({ length: 8 }, () => liked);
    const { metrics } = await candidate(samples, { minibatches: 8, learningRate: 0.5, gateMeanKl: 100 });
    expect(metrics.clipFraction).toBeGreaterThan(0.5);
  });

  test('an epoch covers the whole batch again, within the bounds on the ratio', async () => {
    const once = await candidate([liked, disliked], { learningRate: 0.3 });
    const samples = [liked, disliked];
    const often = await candidate(samples, { learningRate: 0.3, epochs: 4, gateMeanKl: 100 });
    expect(once.metrics.clipFraction).toBe(0);
    // Once both samples are at their bounds there is nothing left to learn, and momentum does not move them.
    expect(often.optimizer.step).toBe(2);
    expect(often.metrics[meanKl]).toBeGreaterThan(once.metrics[meanKl]!);
    expect(often.metrics.clipFraction).toBeGreaterThan(0);
  });

  test('an answer of an older version is weighted up to the cap; a greedy one is not', async () => {
    const rare = (greedy: boolean) =>
      sampleData('rare', { version: 0, tokens: { responseIds: [4], logProbs: [-9], greedy } });
    expect((await candidate([rare(false)])).metrics).toMatchObject({
      stalenessWeight: 2,
      stalenessCapped: 1,
    });
    expect((await candidate([rare(true)])).metrics).toMatchObject({ stalenessWeight: 1, stalenessCapped: 0 });
  });

  test('drift is measured only on answers of the parent', async () => {
    const first = await candidate();
    const fresh = answer([4], 1, 1);
    const both = await candidate([fresh, liked], {}, { parent: first, n: 2 });
    const alone = await candidate([fresh], {}, { parent: first, n: 2 });
    expect(both.metrics.logProbDriftMean).toBeCloseTo(alone.metrics.logProbDriftMean!, 12);
    expect(both.metrics.staleSamples).toBe(1);
    expect((await candidate([liked], {}, { parent: first, n: 2 })).metrics).not.toHaveProperty(
      'logProbDriftMean',
    );
  });

  test('KL to the base restrains the policy', async () => {
    const first = await candidate(undefined, { learningRate: 0.3 });
    const pulled = async (klCoefficient: number) =>
      candidate([liked], { klCoefficient, gradientClip: 100 }, { parent: first, n: 2 });
    expect((await pulled(50)).metrics.klToBase).toBeGreaterThan(0);
    expect(toyLogProbs((await pulled(50)).adapter)[4]).toBeLessThan(
      toyLogProbs((await pulled(0)).adapter)[4]!,
    );
  });

  test('a candidate too far from its parent is not promoted', async () => {
    expect((await candidate()).gate).toEqual({ passed: true });
    const { gate } = await candidate(undefined, { gateMeanKl: 1e-9 });
    expect(gate).toMatchObject({ passed: false, reason: 'kl-to-parent' });
  });

  test('a value that is not finite leaves no candidate, wherever it appears', async () => {
    const withNaN = async (changes: Partial<LearningEngine>) =>
      run(undefined, {}, { engine: { ...toyEngine, ...changes } });
    const broken = [
      ...(isLocal ? [await withNaN({ meanKl: () => Number.NaN })] : []),
      await withNaN({
        gradients: (...input) => {
          const gradients = new Map(toyEngine.gradients(...input));
          for (const values of gradients.values()) values[0] = Number.POSITIVE_INFINITY;
          return gradients;
        },
      }),
      // Only here does one function give log-probs and gradients.
      ...(isLocal
        ? [
            await withNaN({
              gradients: (file, sequences, byLogProbs) => {
                byLogProbs(
                  sequences.map(() => new Float32Array([Number.NaN])),
                  [],
                );
                return toyEngine.gradients(file, sequences, () => ({ sampled: [[0]] }));
              },
            }),
          ]
        : []),
      await run([{ ...liked, verdict: Number.NaN }]),
      await run(undefined, { learningRate: 1e39 }),
    ];
    expect(broken.map(({ kind }) => kind)).toEqual(Array(broken.length).fill('not-finite'));
  });

  test('progress counts samples', async () => {
    const seen: string[] = [];
    const samples = [liked, disliked];
    await step(
      trainingOf(toyEngine),
      { parent: undefined, batch: batchData(1, samples), samples },
      ({ phase, samples: done, of }) => seen.push(`${phase} ${done}/${of}`),
    );
    // A server gets a minibatch as a whole.
    expect(seen).toEqual([...(isLocal ? ['training 1/2'] : []), 'training 2/2', 'gate 2/2']);
  });

  test("during the optimizer's warm-up, the rate rises over the steps of all versions", async () => {
    // Adam's first step moves each weight by the rate, whatever its gradient.
    const largest = async (changes: Partial<TrainingSettings>): Promise<number> => {
      const { adapter } = await candidate(undefined, changes);
      const start = toyEngine.createAdapter({
        training: 'lora',
        rank: 2,
        alpha: 2,
        seed: batchData(1, []).seed,
      });
      return Math.max(
        ...[...adapter.tensors].flatMap(([name, { values }]) =>
          Array.from(values, (value, i) => Math.abs(value - start.tensors.get(name)!.values[i]!)),
        ),
      );
    };
    expect(await largest({ learningRate: 0.04 })).toBeCloseTo(0.04, 6);
    expect(await largest({ learningRate: 0.04, warmUpSteps: 4 })).toBeCloseTo(0.01, 6);
    const [first, warm] = [await candidate(), await candidate(undefined, { warmUpSteps: 1 })];
    expect(numbersOf(warm)).toEqual(numbersOf(first));
    const after = { parent: first, n: 2 };
    const settings = { learningRate: 5e-3 };
    expect(numbersOf(await candidate(undefined, { ...settings, warmUpSteps: 2 }, after))).toEqual(
      numbersOf(await candidate(undefined, settings, after)),
    );
  });

  test('wishes that a batch leaves out do not teach', async () => {
    const hinted = sampleData('hinted', {
      verdict: 0,
      hints: ['No lists, please. Please use emojis.'],
      tokens: { responseIds: [2], logProbs: [uniform] },
    });
    const batch = batchData(1, [hinted, liked], { method: 'combine' });
    const without = (wishes: readonly string[]) => ({
      ...batch,
      samples: batch.samples.map((sample, index) => (index === 0 ? { ...sample, without: wishes } : sample)),
    });
    const read: string[] = [];
    const engine: LearningEngine = {
      ...toyEngine,
      writePrompt: (source) => {
        read.push(JSON.stringify(source.messages));
        return toyEngine.writePrompt(source);
      },
    };
    const used = async (wishes: readonly string[]) => {
      const result = await step(trainingOf(engine), {
        parent: undefined,
        batch: without(wishes),
        samples: [hinted, liked],
      });
      return result.kind === 'candidate' ? result.metrics.hintsUsed : undefined;
    };
    expect(await used(['emoji'])).toBe(1);
    expect(read.some((words) => words.includes('No lists, please.'))).toBe(true);
    expect(read.some((words) => words.includes('emojis'))).toBe(false);
    expect(await used(['emoji', 'no-list'])).toBe(0);
  });
});
