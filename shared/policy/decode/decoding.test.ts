import { describe, expect, test } from 'vitest';
import type { Executor } from '../executors/executor.ts';
import { logitsOf, residualStream, sequenceContext } from '../model/model.ts';
import { type Adapter, networkOf, type Policy } from '../model/policy.ts';
import { createRandom } from '../model/random.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { smallConfig } from '../testing/model.ts';
import { decidedPolicy, randomLora } from '../testing/policy.ts';
import { openReferenceModel, readModelReference } from '../testing/reference-model.ts';
import { scoreResponses } from '../train/scoring.ts';
import { DecoderFull } from './cache-room.ts';
import { createDecoder, type Decoder } from './decoding.ts';

const config = {
  ...smallConfig,
  vocabularySize: 97,
  hiddenSize: 32,
  headSize: 8,
  intermediateSize: 48,
  maxPositions: 600,
};
const smallPolicy = (executor: Executor): Promise<Policy> => decidedPolicy(executor, config, 'decoding');
const someAdapter = (policy: Policy, seed: string): Adapter =>
  policy.loadAdapter(randomLora(config, { rank: 3, alpha: 6, seed }, 0.2));

/** Logits after the last of `ids`, by a full forward pass without a cache. */
function fullForward(policy: Policy, adapter: Adapter | undefined, ids: readonly number[]): Float32Array {
  const { executor } = policy;
  const { model, network } = networkOf(policy, adapter);
  return executor.scope(() => {
    const context = sequenceContext(executor, model, {
      batch: 1,
      positions: ids.length,
      backward: false,
    });
    const x = residualStream(executor, network, { ids: Int32Array.from(ids), context });
    return executor.read(logitsOf(executor, network, x)).slice(-config.vocabularySize);
  });
}

const argmax = (values: Float32Array): number =>
  values.reduce((best, value, i) => (value > values[best]! ? i : best), 0);

describeOnBackends('decoder', (open) => {
  test('any composition of a batch gives the numbers of a full forward pass', async () => {
    const policy = await smallPolicy(await open());
    const adapter = someAdapter(policy, 'compositions');
    const random = createRandom('compositions');
    const pick = (below: number): number => Math.floor(random() * below);
    const decoder = createDecoder(policy, adapter, { maxSequences: 5, maxPositions: 600 });
    const live = new Map<number, number[]>();
    let checked = 0;
    for (let round = 0; round < 60; round++) {
      if (live.size < 5 && random() < 0.3) {
        const prompt = Array.from({ length: 1 + pick(40) }, () => pick(97));
        const { slot, logits } = decoder.admit(prompt);
        expect(largestDifference(logits, fullForward(policy, adapter, prompt))).toBeLessThan(1e-4);
        live.set(slot, prompt);
      }
      const chosen = [...live.keys()].filter(() => random() < 0.7).sort(() => random() - 0.5);
      const entries = chosen.map((slot) => ({ slot, id: pick(97) }));
      decoder.step(entries).forEach((logits, i) => {
        const ids = live.get(entries[i]!.slot)!;
        ids.push(entries[i]!.id);
        if (random() > 0.4) return;
        expect(largestDifference(logits, fullForward(policy, adapter, ids))).toBeLessThan(1e-4);
        checked++;
      });
      if (live.size > 0 && random() < 0.15) {
        const slot = [...live.keys()][pick(live.size)]!;
        decoder.release(slot);
        live.delete(slot);
      }
    }
    expect(checked).toBeGreaterThan(30);
    expect(decoder.active).toBe(live.size);
    decoder.dispose();
    adapter.dispose();
    policy.dispose();
  });

  test('a growing cache does not change sequences, nor does a late admission', async () => {
    const policy = await smallPolicy(await open());
    const decoder = createDecoder(policy, undefined, { maxSequences: 4, maxPositions: 600 });
    const ids = Array.from({ length: 250 }, (_, i) => (i * 31) % 97);
    const first = decoder.admit(ids);
    let late: { slot: number; ids: number[] } | undefined;
    for (let i = 0; i < 20; i++) {
      const id = (i * 7) % 97;
      ids.push(id);
      if (i === 10) late = { slot: decoder.admit([5, 6, 7]).slot, ids: [5, 6, 7] };
      const entries = [{ slot: first.slot, id }, ...(late ? [{ slot: late.slot, id }] : [])];
      late?.ids.push(id);
      const [logits, other] = decoder.step(entries);
      if (i % 5 !== 4) continue;
      expect(largestDifference(logits!, fullForward(policy, undefined, ids))).toBeLessThan(1e-4);
      if (late)
        expect(largestDifference(other!, fullForward(policy, undefined, late.ids))).toBeLessThan(1e-4);
    }
    decoder.dispose();
    policy.dispose();
  });

  test('a sequence that waits at the end of the cache and others do not affect each other', async () => {
    const policy = await smallPolicy(await open());
    const decoder = createDecoder(policy, undefined, { maxSequences: 3, maxPositions: 600 });
    const waiting = Array.from({ length: 256 }, (_, i) => (i * 13) % 97); // fills the capacity exactly
    const [first, second, third] = [decoder.admit([1, 2, 3]), decoder.admit(waiting), decoder.admit([9, 8])];
    decoder.step([{ slot: first.slot, id: 4 }]);
    const [a, b, c] = decoder.step([first, second, third].map(({ slot }) => ({ slot, id: 7 })));
    expect(largestDifference(a!, fullForward(policy, undefined, [1, 2, 3, 4, 7]))).toBeLessThan(1e-4);
    expect(largestDifference(b!, fullForward(policy, undefined, [...waiting, 7]))).toBeLessThan(1e-4);
    expect(largestDifference(c!, fullForward(policy, undefined, [9, 8, 7]))).toBeLessThan(1e-4);
    decoder.dispose();
    policy.dispose();
  });

  test('log-probs during sampling equal those of scoring', async () => {
    const policy = await smallPolicy(await open());
    const adapter = someAdapter(policy, 'agree');
    const decoder = createDecoder(policy, adapter, { maxSequences: 1, maxPositions: 100 });
    const temperature = 0.7;
    const promptIds = [1, 2, 3];
    const responseIds: number[] = [];
    const logProbs: number[] = [];
    let { slot, logits } = decoder.admit(promptIds);
    for (let i = 0; i < 30; i++) {
      const id = (argmax(logits) + i) % 97;
      const sum = logits.reduce((total, logit) => total + Math.exp(logit / temperature), 0);
      logProbs.push(logits[id]! / temperature - Math.log(sum));
      responseIds.push(id);
      logits = decoder.step([{ slot, id }])[0]!;
    }
    const [scored] = scoreResponses(policy, adapter, [{ promptIds, responseIds, temperature }]);
    expect(largestDifference(scored!, logProbs)).toBeLessThan(1e-4);
    decoder.dispose();
    adapter.dispose();
    policy.dispose();
  });

  test('a decoder with an adapter does not change the base and frees its own tensors', async () => {
    const policy = await smallPolicy(await open());
    const before = fullForward(policy, undefined, [1, 2, 3]);
    const tensors = policy.executor.tensorCount();
    const adapter = someAdapter(policy, 'apart');
    const decoder = createDecoder(policy, adapter, { maxSequences: 1, maxPositions: 8 });
    expect(largestDifference(decoder.admit([1, 2, 3]).logits, before)).toBeGreaterThan(0.1);
    expect(largestDifference(fullForward(policy, undefined, [1, 2, 3]), before)).toBe(0);
    decoder.dispose();
    adapter.dispose();
    expect(policy.executor.tensorCount()).toBe(tensors);
    policy.dispose();
  });

  test('errors name the limits', async () => {
    const policy = await smallPolicy(await open());
    const decoder = createDecoder(policy, undefined, { maxSequences: 1, maxPositions: 4 });
    expect(() => decoder.admit([])).toThrow('0 tokens');
    expect(() => decoder.admit([1, 2, 3, 4, 5])).toThrow('5 tokens');
    const { slot } = decoder.admit([1, 2, 3]);
    expect(() => decoder.admit([1])).toThrow(DecoderFull);
    expect(decoder.step([])).toEqual([]);
    expect(() =>
      decoder.step([
        { slot, id: 1 },
        { slot, id: 2 },
      ]),
    ).toThrow('twice');
    expect(() => decoder.step([{ slot: 3, id: 1 }])).toThrow('no sequence');
    decoder.step([{ slot, id: 4 }]);
    expect(() => decoder.step([{ slot, id: 5 }])).toThrow('limit');
    decoder.release(slot);
    expect(() => decoder.release(slot)).toThrow('no sequence');
    expect(decoder.admit([1]).slot).toBe(slot);
    decoder.dispose();
    policy.dispose();
  });
});

describe('greedy decoding equals the reference', () => {
  describe.each([
    'llama-tiny',
    'llama3-rope-tiny',
    'qwen2-tiny',
    'qwen3-tiny',
    'qwen3-tiny-untied-sharded',
    'llama-tiny-f16',
  ])('%s', (name) => {
    describeOnBackends('64 tokens of three prompts at once', (open) => {
      test('tokens and log-probs', async () => {
        const policy = await openReferenceModel(name, await open());
        const { prompts, greedy } = readModelReference(name);
        const decoder: Decoder = createDecoder(policy, undefined, { maxSequences: 3, maxPositions: 512 });
        const sequences = greedy.map((reference) => ({
          reference,
          ...decoder.admit(prompts.find((prompt) => prompt.name === reference.prompt)!.ids),
        }));
        for (let i = 0; i < 64; i++) {
          for (const { reference, logits } of sequences) {
            expect(argmax(logits)).toBe(reference.tokens[i]);
            const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
            const top = reference.top5_ids[i]!.map((id) => logits[id]! - Math.log(sum));
            expect(largestDifference(top, reference.top5_log_probs[i]!)).toBeLessThan(1e-4);
          }
          const entries = sequences.map(({ slot, reference }) => ({ slot, id: reference.tokens[i]! }));
          for (const [j, logits] of decoder.step(entries).entries())
            sequences[j] = { ...sequences[j]!, logits };
        }
        decoder.dispose();
        policy.dispose();
      });
    });
  });
});
