import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDecoder } from '../decode/decoding.ts';
import type { Executor } from '../executors/executor.ts';
import { initialWeights } from '../model/initialise.ts';
import { weightShapes } from '../model/layout.ts';
import { createLora } from '../model/lora.ts';
import { loadPolicy, type Policy, weightsInMemory } from '../model/policy.ts';
import { createRandom } from '../model/random.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { smallConfig as config } from '../testing/model.ts';
import { randomLora } from '../testing/policy.ts';
import { createAdamW, emptyAdamWState } from './adamw.ts';
import { type PolicySequence, perMember, planMicrobatches } from './batching.ts';
import { crossEntropyAndGradients } from './pretraining.ts';
import { meanPolicyKl, scoreResponses } from './scoring.ts';
import { type LossValue, lossAndGradients } from './training.ts';

const weights = () => initialWeights(config, 'training');
const open = async (executor: Promise<Executor>): Promise<Policy> =>
  loadPolicy(weightsInMemory(config, weights()), await executor);

const sequence = (seed: string, prompt: number, response: number): PolicySequence => {
  const random = createRandom(seed);
  const ids = (length: number) => Array.from({ length }, () => Math.floor(random() * 61));
  return { promptIds: ids(prompt), responseIds: ids(response) };
};

/** A loss with a different weight for every token. */
const weighted = (logProbs: readonly Float32Array[]): LossValue => {
  const gradient = logProbs.map((values, i) => Array.from(values, (_, t) => Math.sin(1 + i + 3 * t)));
  const loss = logProbs.reduce(
    (sum, values, i) => sum + values.reduce((a, p, t) => a + p * gradient[i]![t]!, 0),
    0,
  );
  return { loss, metrics: { tokens: logProbs.flatMap((values) => [...values]).length }, gradient };
};

const changed = (seed: string) =>
  randomLora(config, { rank: 2, alpha: 4, targets: ['q_proj', 'v_proj', 'up_proj'], seed }, 0.3);

describeOnBackends('training', (backend) => {
  test('a batch in several passes gives the sum over its sequences', async () => {
    const policy = await open(backend());
    // 2200 tokens exceed one microbatch; the empty response has no gradient
    const sequences = [
      sequence('a', 3, 2100),
      sequence('b', 5, 4),
      sequence('c', 1, 0),
      sequence('d', 9, 100),
    ];
    expect(planMicrobatches(sequences)).toHaveLength(2);
    const together = lossAndGradients(policy, 'full', sequences, { loss: weighted });
    expect(together.metrics.tokens).toBe(2204);
    const sums = new Map<string, Float64Array>();
    let loss = 0;
    sequences.forEach((one, index) => {
      if (one.responseIds.length === 0) return;
      const part = lossAndGradients(policy, 'full', [one], {
        loss: ([logProbs]) => {
          const padded = Array.from({ length: index + 1 }, (_, i) =>
            i === index ? logProbs! : new Float32Array(0),
          );
          const value = weighted(padded);
          return { ...value, gradient: [value.gradient[index]!] };
        },
      });
      loss += part.loss;
      for (const [name, gradient] of part.gradients) {
        const sum = sums.get(name) ?? new Float64Array(gradient.length);
        sums.set(
          name,
          sum.map((value, i) => value + gradient[i]!),
        );
      }
    });
    expect(together.loss).toBeCloseTo(loss, 2);
    for (const [name, gradient] of together.gradients) {
      const scale = Math.max(1, ...gradient.map(Math.abs));
      expect(largestDifference(gradient, sums.get(name)!) / scale, name).toBeLessThan(1e-4);
    }
    policy.dispose();
  });

  test('the same inputs give the same bits', async () => {
    const policy = await open(backend());
    const adapter = policy.loadAdapter(changed('bits'));
    const sequences = [sequence('a', 30, 200), sequence('b', 5, 90), sequence('c', 60, 10)];
    const first = lossAndGradients(policy, adapter, sequences, { loss: weighted });
    for (let i = 0; i < 3; i++)
      expect(lossAndGradients(policy, adapter, sequences, { loss: weighted })).toEqual(first);
    adapter.dispose();
    policy.dispose();
  });

  test('cross entropy over whole sequences equals the loss of log-probs', async () => {
    const policy = await open(backend());
    const [a, b] = [sequence('x', 1, 12), sequence('y', 1, 12)];
    const tokens = Int32Array.from(
      [a, b].flatMap(({ promptIds, responseIds }) => [...promptIds, ...responseIds]),
    );
    const mask = Float32Array.from({ length: 24 }, (_, i) => (i % 5 === 0 ? 0 : 1));
    const total = mask.reduce((sum, value) => sum + value, 0);
    const fast = crossEntropyAndGradients(policy, { tokens, batch: 2, positions: 12, mask });
    const slow = lossAndGradients(policy, 'full', [a, b], {
      loss: (logProbs) => ({
        loss:
          -logProbs.reduce(
            (sum, values, i) => sum + values.reduce((s, p, t) => s + p * mask[i * 12 + t]!, 0),
            0,
          ) / total,
        metrics: {},
        gradient: logProbs.map((values, i) => values.map((_, t) => -mask[i * 12 + t]! / total)),
      }),
    });
    expect(fast.loss).toBeCloseTo(slow.loss, 5);
    expect([...fast.gradients.keys()].sort()).toEqual([...weightShapes(config).keys()].sort());
    for (const [name, gradient] of fast.gradients) {
      expect(largestDifference(gradient, slow.gradients.get(name)!), name).toBeLessThan(1e-6);
    }
    expect(() =>
      crossEntropyAndGradients(policy, { tokens, batch: 2, positions: 12, mask: mask.map(() => 0) }),
    ).toThrow('no token');
    policy.dispose();
  });

  test('a model learns a short text by heart, an adapter learns another', async () => {
    const policy = await open(backend());
    const parameters = weights();
    const state = emptyAdamWState();
    const adamw = createAdamW({ learningRate: 0.02, maxGradientNorm: 1 });
    const tokens = Int32Array.from(sequence('text', 1, 24).responseIds);
    let loss = Infinity;
    for (let i = 0; i < 40; i++) {
      const made = crossEntropyAndGradients(policy, { tokens, batch: 1, positions: 23 });
      loss = made.loss;
      adamw.step(parameters, made.gradients, state);
      policy.replaceWeights(parameters);
    }
    expect(loss).toBeLessThan(0.2);

    const other = sequence('other', 4, 12);
    const file = createLora(config, { rank: 4, alpha: 8, seed: 1 });
    const values = new Map([...file.tensors].map(([name, tensor]) => [name, tensor.values]));
    const loraState = emptyAdamWState();
    const score = (): number => {
      const adapter = policy.loadAdapter(file);
      const [logProbs] = scoreResponses(policy, adapter, [other]);
      adapter.dispose();
      return logProbs!.reduce((sum, p) => sum + p, 0);
    };
    const base = scoreResponses(policy, undefined, [other])[0]!.reduce((sum, p) => sum + p, 0);
    expect(score()).toBeCloseTo(base, 4); // a fresh adapter changes nothing
    for (let i = 0; i < 30; i++) {
      const adapter = policy.loadAdapter(file);
      const { gradients } = lossAndGradients(policy, adapter, [other], {
        loss: ([logProbs]) => ({
          loss: -logProbs!.reduce((sum, p) => sum + p, 0),
          metrics: {},
          gradient: [logProbs!.map(() => -1)],
        }),
      });
      adapter.dispose();
      adamw.step(values, gradients, loraState);
    }
    expect(score()).toBeGreaterThan(base / 2);
    policy.dispose();
  });

  test("an adapter that does not fit is refused with its tensor's name", async () => {
    const policy = await open(backend());
    const file = createLora({ ...config, hiddenSize: 32 }, { rank: 2, alpha: 4, seed: 1 });
    const before = policy.executor.tensorCount();
    expect(() => policy.loadAdapter(file)).toThrow('the model needs [2,24]');
    const deeper = createLora({ ...config, layers: 3 }, { rank: 2, alpha: 4, seed: 1 });
    expect(() => policy.loadAdapter(deeper)).toThrow('layers.2');
    expect(policy.executor.tensorCount()).toBe(before);
    policy.dispose();
  });

  test('the KL of a policy to itself is 0, to another that of their distributions', async () => {
    const policy = await open(backend());
    const adapter = policy.loadAdapter(changed('kl'));
    const sequences = [{ ...sequence('p', 4, 6), temperature: 0.7 }, sequence('q', 2, 3)];
    expect(meanPolicyKl(policy, adapter, adapter, sequences)).toBe(0);
    // All log-probs at a position are those of 61 responses of one token.
    let [sum, count] = [0, 0];
    for (const { promptIds, responseIds, temperature = 1 } of sequences) {
      responseIds.forEach((_, t) => {
        const prefix = [...promptIds, ...responseIds.slice(0, t)];
        const all = Array.from({ length: 61 }, (_, id) => ({
          promptIds: prefix,
          responseIds: [id],
          temperature,
        }));
        const [p, q] = [scoreResponses(policy, adapter, all), scoreResponses(policy, undefined, all)];
        p.forEach(([logP], id) => {
          sum += Math.exp(logP!) * (logP! - q[id]![0]!);
        });
        count++;
      });
    }
    expect(meanPolicyKl(policy, undefined, adapter, sequences)).toBeCloseTo(sum / count, 4);
    expect(sum / count).toBeGreaterThan(1e-3);
    adapter.dispose();
    policy.dispose();
  });

  test('50 generations and 10 training steps leave no tensor', async () => {
    const policy = await open(backend());
    const { executor } = policy;
    const file = changed('leaks');
    const generate = (length: number): void => {
      const adapter = policy.loadAdapter(file);
      const decoder = createDecoder(policy, adapter, { maxSequences: 3, maxPositions: 64 });
      const slots = [length, length + 3].map(
        (size) => decoder.admit(Array.from({ length: size }, (_, i) => i)).slot,
      );
      for (let i = 0; i < 4; i++) decoder.step(slots.map((slot) => ({ slot, id: i })));
      for (const slot of slots) decoder.release(slot);
      decoder.dispose();
      adapter.dispose();
    };
    const parameters = weights();
    const state = emptyAdamWState();
    const adamw = createAdamW({ learningRate: 1e-3 });
    const train = (length: number): void => {
      const adapter = policy.loadAdapter(file);
      lossAndGradients(
        policy,
        adapter,
        [sequence('s', 3, length), { ...sequence('t', 2, 4), temperature: 0.5 }],
        { loss: weighted },
      );
      expect(() =>
        lossAndGradients(policy, adapter, [sequence('s', 3, 4)], {
          loss: () => ({
            loss: 0,
            metrics: {},
            gradient: [],
          }),
        }),
      ).toThrow();
      adapter.dispose();
      const { gradients } = lossAndGradients(policy, 'full', [sequence('u', 3, length)], { loss: weighted });
      adamw.step(parameters, gradients, state);
      policy.replaceWeights(parameters);
    };
    generate(3);
    train(5);
    const before = executor.tensorCount();
    for (let i = 0; i < 50; i++) generate(1 + (i % 17));
    expect(executor.tensorCount()).toBe(before);
    for (let i = 0; i < 10; i++) train(3 + i);
    expect(executor.tensorCount()).toBe(before);
    policy.dispose();
  });
});

test('microbatches cover every response token once, within the limits', () => {
  const sequences = fc.array(
    fc.record({
      promptIds: fc.array(fc.nat(50), { minLength: 1, maxLength: 700 }),
      responseIds: fc.array(fc.nat(50), { maxLength: 700 }),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(sequences, (input) => {
      const plan = planMicrobatches(input);
      const seen = new Map<number, number[]>();
      for (const microbatch of plan) {
        const { batch, positions, rows, targets, ids } = microbatch;
        expect(batch * positions ** 2 <= 4_194_304 || batch === 1).toBe(true);
        for (const [index, values] of perMember(microbatch, input, Float32Array.from(targets)))
          seen.set(index, [...values]);
        rows.forEach((row, i) => {
          // A row's own successor within its sequence is its target, but for the last one.
          if (i + 1 < rows.length && rows[i + 1] === row + 1 && (row + 1) % positions !== 0)
            expect(ids[row + 1]).toBe(targets[i]);
        });
      }
      input.forEach(({ responseIds }, index) => {
        expect(seen.get(index) ?? []).toEqual(responseIds);
      });
    }),
    { numRuns: 40, seed: 7 },
  );
  expect(() => planMicrobatches([{ promptIds: [], responseIds: [1] }])).toThrow('prompt');
});

test('equal seeds give equal initial weights with the documented deviations', () => {
  const [a, b, c] = [initialWeights(config, 1), initialWeights(config, 1), initialWeights(config, 2)];
  expect(a).toEqual(b);
  const name = 'model.layers.1.mlp.down_proj.weight';
  expect(a.get(name)).not.toEqual(c.get(name));
  const deviation = (values: Float32Array): number =>
    Math.sqrt(values.reduce((sum, v) => sum + v * v, 0) / values.length);
  expect(deviation(a.get(name)!)).toBeCloseTo(0.02 / 2, 3);
  expect(deviation(a.get('model.embed_tokens.weight')!)).toBeCloseTo(0.02, 3);
  expect([...a.keys()]).toEqual([...weightShapes(config).keys()]);
});
