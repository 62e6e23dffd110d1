import { expect, test } from 'vitest';
import { initialWeights } from '../model/initialise.ts';
import { createLora } from '../model/lora.ts';
import { loadPolicy, weightsInMemory } from '../model/policy.ts';
import { createRandom, normal } from '../model/random.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { smallConfig as config } from '../testing/model.ts';
import { meanPolicyKl, type PolicySequence, scoreResponses } from './scoring.ts';
import { tokenDistributions } from './token-distributions.ts';
import { lossAndGradients } from './training.ts';

const random = createRandom('restriction');
const file = createLora(config, { rank: 2, alpha: 4, seed: 7 });
for (const { values } of file.tensors.values()) values.set(values.map(() => 0.3 * normal(random)));

/** Restricted at the first and last positions; the middle one is free. */
const sequences: readonly PolicySequence[] = [
  {
    promptIds: [3, 1, 4, 1, 5],
    responseIds: [10, 2, 7],
    temperature: 0.7,
    allowed: [
      { at: 0, ids: [2, 10, 40] },
      { at: 2, ids: [7] },
    ],
  },
  { promptIds: [9, 2, 6], responseIds: [11, 12] },
];
const weights = [
  [0.4, -0.6, 0.9],
  [0.2, -0.3],
];
const loss = (logProbs: readonly Float32Array[]) => ({
  loss: logProbs.reduce(
    (sum, row, index) => sum + row.reduce((part, value, t) => part + weights[index]![t]! * value, 0),
    0,
  ),
  metrics: {},
  gradient: weights,
});

/** sum over ids of p log(p / q), with p and q the probabilities among these ids only, from all log-probs. In f64. */
function klAmong(ids: readonly number[], p: readonly number[], q: readonly number[]): number {
  const among = (logProbs: readonly number[]) => {
    const total = Math.log(ids.reduce((sum, id) => sum + Math.exp(logProbs[id]!), 0));
    return ids.map((id) => logProbs[id]! - total);
  };
  const [ofP, ofQ] = [among(p), among(q)];
  return ofP.reduce((sum, logP, index) => sum + Math.exp(logP) * (logP - ofQ[index]!), 0);
}

describeOnBackends('restricted choices', (open) => {
  const load = async () =>
    loadPolicy(weightsInMemory(config, initialWeights(config, 'restriction')), await open());

  test('log-probs are normalised over the allowed tokens', async () => {
    const policy = await load();
    const adapter = policy.loadAdapter(file);
    const [restricted, free] = scoreResponses(policy, adapter, sequences);
    const plain = sequences.map(({ allowed: _, ...rest }) => rest);
    const [all, same] = scoreResponses(policy, adapter, plain);
    const one = (id: number): PolicySequence => ({ ...plain[0]!, responseIds: [id] });
    const among = scoreResponses(policy, adapter, [2, 10, 40].map(one)).map(([logProb]) => logProb!);
    const total = Math.log(among.reduce((sum, logProb) => sum + Math.exp(logProb), 0));
    expect(Math.abs(restricted![0]! - (among[1]! - total))).toBeLessThan(1e-5);
    expect(restricted![1]).toBeCloseTo(all![1]!, 5);
    expect(restricted![2]).toBeCloseTo(0, 12);
    expect(largestDifference(free!, same!)).toBeLessThan(1e-6);
    adapter.dispose();
    policy.dispose();
  });

  test.each([false, true])(
    'gradients equal finite differences, layers computed again: %s',
    async (recompute) => {
      const policy = await load();
      const adapter = policy.loadAdapter(file);
      const { gradients } = lossAndGradients(policy, adapter, sequences, { loss, recompute });
      adapter.dispose();
      const valueAt = (name: string, index: number, by: number): number => {
        const tensors = new Map(
          [...file.tensors].map(([key, tensor]) => {
            const values = Float32Array.from(tensor.values);
            if (key === name) values[index]! += by;
            return [key, { ...tensor, values }];
          }),
        );
        const moved = policy.loadAdapter({ ...file, tensors });
        const value = loss(scoreResponses(policy, moved, sequences)).loss;
        moved.dispose();
        return value;
      };
      const step = 5e-3;
      for (const [name, gradient] of gradients) {
        const index = gradient.reduce(
          (best, value, at) => (Math.abs(value) > Math.abs(gradient[best]!) ? at : best),
          0,
        );
        const slope = (valueAt(name, index, step) - valueAt(name, index, -step)) / (2 * step);
        const scale = Math.max(0.05, Math.abs(slope));
        expect(
          Math.abs(gradient[index]! - slope) / scale,
          `${name}: ${gradient[index]}, ${slope}`,
        ).toBeLessThan(0.03);
      }
      if (policy.executor.kind === 'native') {
        const plain = { ...policy, model: policy.model, executor: { ...policy.executor, graphs: undefined } };
        const lora = policy.loadAdapter(file);
        const again = lossAndGradients(plain, lora, sequences, { loss, recompute }).gradients;
        for (const [name, gradient] of gradients)
          expect(largestDifference(gradient, again.get(name)!), name).toBeLessThan(5e-6);
        lora.dispose();
      }
      policy.dispose();
    },
  );

  test('a position with one allowed token has no gradient', async () => {
    const policy = await load();
    const adapter = policy.loadAdapter(file);
    const only = [{ ...sequences[0]!, allowed: [10, 2, 7].map((id, at) => ({ at, ids: [id] })) }];
    const value = () => ({ loss: 0, metrics: {}, gradient: [weights[0]!] });
    const { gradients } = lossAndGradients(policy, adapter, only, { loss: value });
    for (const gradient of gradients.values()) expect(gradient.every((slope) => slope === 0)).toBe(true);
    adapter.dispose();
    policy.dispose();
  });

  test('distributions cover the allowed tokens only', async () => {
    const policy = await load();
    const adapter = policy.loadAdapter(file);
    const [distribution] = tokenDistributions(policy, adapter, sequences, { count: 5, anchor: 0.3 });
    const first = [...distribution!.topIds.subarray(0, 3)];
    expect(first.sort((a, b) => a - b)).toEqual([2, 10, 40]);
    const mass = distribution!.top.subarray(0, 5).reduce((sum, logProb) => sum + Math.exp(logProb), 0);
    expect(mass).toBeCloseTo(1, 5);
    adapter.dispose();
    policy.dispose();
  });

  test('the KL between two versions is the distance of what each position allows, and 0 where one token is', async () => {
    const policy = await load();
    const adapter = policy.loadAdapter(file);
    const everyToken = Array.from({ length: config.vocabularySize }, (_, id) => id);
    let [restricted, whole, count] = [0, 0, 0];
    for (const { promptIds, responseIds, temperature = 1, allowed = [] } of sequences)
      responseIds.forEach((_, t) => {
        const prefix = [...promptIds, ...responseIds.slice(0, t)];
        const one = (id: number) => ({ promptIds: prefix, responseIds: [id], temperature });
        const [candidate, base] = [adapter, undefined].map((version) =>
          scoreResponses(policy, version, everyToken.map(one)).map(([logProb]) => logProb!),
        );
        restricted += klAmong(allowed.find(({ at }) => at === t)?.ids ?? everyToken, candidate!, base!);
        whole += klAmong(everyToken, candidate!, base!);
        count++;
      });
    expect(meanPolicyKl(policy, undefined, adapter, sequences)).toBeCloseTo(restricted / count, 5);
    const free = sequences.map(({ allowed: _, ...rest }) => rest);
    expect(meanPolicyKl(policy, undefined, adapter, free)).toBeCloseTo(whole / count, 5);
    expect(Math.abs(restricted - whole) / count).toBeGreaterThan(1e-3);
    adapter.dispose();
    policy.dispose();
  });
});
