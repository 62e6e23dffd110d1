import { expect, test } from 'vitest';
import { withoutRest } from '../losses/distribution.ts';
import { initialWeights } from '../model/initialise.ts';
import { createLora } from '../model/lora.ts';
import { loadPolicy, weightsInMemory } from '../model/policy.ts';
import { createRandom, normal } from '../model/random.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { smallConfig as config } from '../testing/model.ts';
import type { PolicySequence } from './scoring.ts';
import { tokenDistributions } from './token-distributions.ts';
import { lossAndGradients } from './training.ts';

const random = createRandom('candidates');
const file = createLora(config, { rank: 2, alpha: 4, seed: 7 });
for (const { values } of file.tensors.values()) values.set(values.map(() => 0.3 * normal(random)));

/** One token is predicted, so every alternative token is a separate sequence. */
const one = (promptIds: readonly number[], id: number, temperature: number): PolicySequence => ({
  promptIds,
  responseIds: [id],
  temperature,
});
const prompts = [
  [3, 1, 4, 1, 5],
  [9, 2, 6],
  [5, 3, 5, 8, 9, 7, 9],
];
const sequences = prompts.map((prompt, index) => one(prompt, 10 + index, index === 1 ? 0.7 : 1));
/** The candidates of the first sequence include the target; the second sequence has no candidates. */
const ids = [Int32Array.of(2, 10, 40), undefined, Int32Array.of(60, 0, 7)];
const slopes = [[0.3, -0.8, 0.5], undefined, [1, -0.25, 0.125]];
const weights = [0.4, -0.6, 0.2];

describeOnBackends('candidates', (open) => {
  const load = async () =>
    loadPolicy(weightsInMemory(config, initialWeights(config, 'candidates')), await open());

  test.each([false, true])(
    'the gradient is that of every token by itself, layers computed again: %s',
    async (recompute) => {
      const policy = await load();
      const adapter = policy.loadAdapter(file);
      const loss = () => ({
        loss: 0,
        metrics: {},
        gradient: weights.map((weight) => [weight]),
        candidateGradient: slopes,
      });
      const options = { recompute, candidates: { count: 3, rest: true, ids } };
      const { gradients } = lossAndGradients(policy, adapter, sequences, { loss, ...options });
      const singles = sequences.flatMap(({ promptIds, responseIds, temperature = 1 }, index) => [
        { sequence: one(promptIds, responseIds[0]!, temperature), slope: weights[index]! },
        ...Array.from(ids[index] ?? [], (id, j) => ({
          sequence: one(promptIds, id, temperature),
          slope: slopes[index]![j]!,
        })),
      ]);
      const expected = lossAndGradients(
        policy,
        adapter,
        singles.map(({ sequence }) => sequence),
        { loss: () => ({ loss: 0, metrics: {}, gradient: singles.map(({ slope }) => [slope]) }) },
      ).gradients;
      for (const [name, gradient] of gradients)
        expect(largestDifference(gradient, expected.get(name)!), name).toBeLessThan(5e-6);
      // the same bits again
      expect(lossAndGradients(policy, adapter, sequences, { loss, ...options }).gradients).toEqual(gradients);
      if (policy.executor.kind === 'native') {
        const plain = { ...policy, model: policy.model, executor: { ...policy.executor, graphs: undefined } };
        const again = lossAndGradients(plain, adapter, sequences, { loss, ...options }).gradients;
        for (const [name, gradient] of gradients)
          expect(largestDifference(gradient, again.get(name)!), name).toBeLessThan(5e-6);
      }
      adapter.dispose();
      policy.dispose();
    },
  );

  test('training and scoring agree on sampled, top and remaining log-probs', async () => {
    const policy = await load();
    const adapter = policy.loadAdapter(file);
    const requested = prompts.map((_, index) => ids[index] ?? Int32Array.of(0, 1, 2));
    const distributions = tokenDistributions(policy, adapter, sequences, { count: 3, requested });
    const all = { count: 61, requested: prompts.map(() => Int32Array.from({ length: 61 }, (_, id) => id)) };
    const whole = tokenDistributions(policy, adapter, sequences, all);
    const top = distributions.map(({ topIds }) => topIds);
    const check = (candidates: readonly (Int32Array | undefined)[], key: 'requested' | 'top') =>
      lossAndGradients(policy, adapter, sequences, {
        loss: (logProbs, made) => {
          logProbs.forEach((row, index) => {
            expect(Math.abs(row[0]! - distributions[index]!.sampled[0]!)).toBeLessThan(1e-5);
            expect(made[index] === undefined).toBe(candidates[index] === undefined);
            if (made[index] === undefined) return;
            expect(largestDifference(made[index].logProbs, distributions[index]![key])).toBeLessThan(1e-5);
            if (key === 'top')
              expect(Math.abs(made[index].rest[0]! - distributions[index]!.rest[0]!)).toBeLessThan(1e-5);
          });
          return { loss: 0, metrics: {}, gradient: weights.map((weight) => [weight]) };
        },
        candidates: { count: 3, rest: true, ids: candidates },
      });
    check(ids, 'requested');
    check(top, 'top');
    whole.forEach(({ requested: logProbs, topIds: sorted, rest }, index) => {
      expect([...sorted.subarray(0, 3)]).toEqual([...distributions[index]!.topIds]);
      expect(logProbs.reduce((sum, logProb) => sum + Math.exp(logProb), 0)).toBeCloseTo(1, 5);
      // nothing is left
      expect(rest[0]).toBeLessThan(-80);
      const others = sorted.subarray(3).reduce((sum, id) => sum + Math.exp(logProbs[id]!), 0);
      expect(Math.abs(Math.log(others) - distributions[index]!.rest[0]!)).toBeLessThan(1e-5);
    });
    adapter.dispose();
    policy.dispose();
  });

  test("padding rows never give ids outside of the policy's vocabulary", async () => {
    const policy = await load();
    const [whole, cut] = [undefined, 30].map((below) =>
      tokenDistributions(policy, undefined, sequences, {
        count: 20,
        requested: prompts.map(() => Int32Array.from({ length: 20 }, (_, j) => 45 + j)),
        below,
      }),
    );
    cut!.forEach(({ topIds, top, rest, requested }, index) => {
      expect(Math.max(...topIds)).toBeLessThan(30);
      const some = top.reduce((sum, logProb) => sum + Math.exp(logProb), Math.exp(rest[0]!));
      expect(some).toBeCloseTo(1, 5);
      expect(requested).toEqual(whole![index]!.requested);
      // 61 is the first that it has no row for
      expect(requested[15]).toBeGreaterThan(-10);
      expect([...requested.subarray(16)].every((logProb) => logProb < -80 && Number.isFinite(logProb))).toBe(
        true,
      );
    });
    policy.dispose();
  });

  test('two graphs serve any number of candidates and sequences of any length', async () => {
    const policy = await load();
    const adapter = policy.loadAdapter(file);
    const graphs = (): number => (policy.executor.kind === 'native' ? policy.executor.graphs!.count : 0);
    const learn = (lengths: readonly number[], count: number) => {
      const some = lengths.map((length) => ({
        promptIds: Array.from({ length }, (_, i) => i % 61),
        responseIds: Array.from({ length }, (_, i) => (3 * i) % 61),
      }));
      const wanted = lengths.map((length) =>
        Int32Array.from({ length: length * count }, (_, i) => i % count),
      );
      const { gradients } = lossAndGradients(policy, adapter, some, {
        loss: (logProbs) => ({
          loss: 0,
          metrics: {},
          gradient: logProbs.map((row) => row.map(() => 1)),
          candidateGradient: wanted.map((own) => new Float32Array(own.length).fill(-0.1)),
        }),
        candidates: { count, rest: true, ids: wanted },
      });
      for (const gradient of gradients.values()) expect(gradient.every(Number.isFinite)).toBe(true);
    };
    learn([1], 1);
    const ready = graphs();
    for (const [lengths, count] of [
      [[5], 4],
      [[20, 7, 9], 4],
      [[30], 61],
    ] as const)
      learn(lengths, count);
    expect(graphs()).toBe(ready);
    adapter.dispose();
    policy.dispose();
  });

  test('a wrong number of candidates is refused', async () => {
    const policy = await load();
    const adapter = policy.loadAdapter(file);
    const before = policy.executor.tensorCount();
    const give = (candidates: Int32Array) => () =>
      lossAndGradients(policy, adapter, sequences.slice(0, 1), {
        loss: () => ({ loss: 0, metrics: {}, gradient: [[1]] }),
        candidates: { count: 3, rest: false, ids: [candidates] },
      });
    expect(give(Int32Array.of(1, 2))).toThrow(/needs 3/);
    expect(policy.executor.tensorCount()).toBe(before);
    adapter.dispose();
    policy.dispose();
  });
});

test("the slope of the rest is part of the candidates' slopes", () => {
  const p = [0.5, 0.2];
  const bins = (a: number, b: number) => [a, b, Math.log(1 - Math.exp(a) - Math.exp(b))];
  const at = p.map(Math.log) as [number, number];
  const value = (a: number, b: number) => {
    const [x, y, z] = bins(a, b) as [number, number, number];
    return 2 * x - 3 * y + 0.7 * z;
  };
  const slopes = withoutRest(bins(...at), [2, -3, 0.7]);
  const step = 1e-6;
  expect(slopes[0]).toBeCloseTo((value(at[0] + step, at[1]) - value(at[0] - step, at[1])) / (2 * step), 6);
  expect(slopes[1]).toBeCloseTo((value(at[0], at[1] + step) - value(at[0], at[1] - step)) / (2 * step), 6);
});
