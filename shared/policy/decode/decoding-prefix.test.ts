import { describe, expect, test } from 'vitest';
import type { Executor } from '../executors/executor.ts';
import { logitsOf, residualStream, sequenceContext } from '../model/model.ts';
import { type Adapter, networkOf, type Policy } from '../model/policy.ts';
import { gatherRows } from '../ops/embedding.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { smallConfig } from '../testing/model.ts';
import { decidedPolicy, randomLora } from '../testing/policy.ts';
import { openReferenceModel, readModelReference } from '../testing/reference-model.ts';
import { DecoderFull } from './cache-room.ts';
import { createDecoder, type Decoder } from './decoding.ts';
import { createSharedPrefixes, type SharedPrefixes } from './shared-prefixes.ts';

const config = {
  ...smallConfig,
  vocabularySize: 89,
  hiddenSize: 32,
  headSize: 8,
  intermediateSize: 48,
  maxPositions: 2000,
};
const limits = { maxSequences: 3, maxPositions: 2000 };
const bytesPerBlock = 64 * 2 * 2 * 2 * 8 * 4;

const smallPolicy = (executor: Executor): Promise<Policy> => decidedPolicy(executor, config, 'prefixes');
const someAdapter = (policy: Policy): Adapter =>
  policy.loadAdapter(randomLora(config, { rank: 3, alpha: 6, seed: 'prefix' }, 0.2));

/** Log-probs after the last of `ids`, by a forward pass over all of them at once. */
function wholePrefill(policy: Policy, adapter: Adapter | undefined, ids: readonly number[]) {
  const { executor } = policy;
  const { model, network } = networkOf(policy, adapter);
  return logSoftmax(
    executor.scope(() => {
      const context = sequenceContext(executor, model, {
        batch: 1,
        positions: ids.length,
        backward: false,
      });
      const x = residualStream(executor, network, { ids: Int32Array.from(ids), context });
      const last = gatherRows(executor, x, Int32Array.of(ids.length - 1));
      return executor.read(logitsOf(executor, network, last));
    }),
  );
}
function logSoftmax(logits: Float32Array): Float64Array {
  const largest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  return Float64Array.from(logits, (logit) => logit - largest - Math.log(sum));
}
const tokens = (count: number, step: number) => Array.from({ length: count }, (_, i) => (i * step + i) % 89);

/** Reads a whole prompt. */
function readAll(decoder: Decoder, ids: readonly number[], owner?: string) {
  const slot = decoder.begin(ids, owner);
  for (let pieces = 1; ; pieces++) {
    const done = decoder.read(slot);
    if (done !== undefined)
      return { slot, cachedTokens: done.cachedTokens, pieces, logProbs: logSoftmax(done.logits) };
  }
}

describeOnBackends('prompts in pieces', (open) => {
  test('a prompt read in pieces of any size gives the numbers of a whole prompt', async () => {
    const policy = await smallPolicy(await open());
    const adapter = someAdapter(policy);
    const prompt = tokens(451, 17);
    const expected = wholePrefill(policy, adapter, prompt);
    for (const pieceTokens of [50, 256, 450]) {
      const decoder = createDecoder(policy, adapter, { ...limits, pieceTokens });
      const { slot, logProbs, pieces } = readAll(decoder, prompt);
      expect(pieces).toBe(Math.ceil(451 / pieceTokens));
      expect(largestDifference(logProbs, expected)).toBeLessThan(1e-4);
      const [next] = decoder.step([{ slot, id: 5 }]);
      expect(
        largestDifference(logSoftmax(next!), wholePrefill(policy, adapter, [...prompt, 5])),
      ).toBeLessThan(1e-4);
      decoder.dispose();
    }
    policy.dispose();
  });

  test('sequences that step between the pieces do not affect each other', async () => {
    const policy = await smallPolicy(await open());
    const decoder = createDecoder(policy, undefined, { ...limits, pieceTokens: 40 });
    const before = decoder.admit([1, 2, 3]);
    const running = [1, 2, 3];
    const prompt = tokens(300, 7);
    const slot = decoder.begin(prompt);
    expect(() => decoder.step([{ slot, id: 1 }])).toThrow('not read');
    let logits: Float32Array | undefined;
    while (logits === undefined) {
      logits = decoder.read(slot)?.logits;
      const id = (running.length * 13) % 89;
      running.push(id);
      const [stepped] = decoder.step([{ slot: before.slot, id }]);
      const difference = largestDifference(logSoftmax(stepped!), wholePrefill(policy, undefined, running));
      expect(difference).toBeLessThan(1e-4);
    }
    expect(() => decoder.read(slot)).toThrow('already read');
    expect(largestDifference(logSoftmax(logits), wholePrefill(policy, undefined, prompt))).toBeLessThan(1e-4);
    decoder.dispose();
    policy.dispose();
  });

  test('the positions of all sequences are limited, and a release makes room', async () => {
    const policy = await smallPolicy(await open());
    const budget = { positions: 576, taken: 0 };
    const decoder = createDecoder(policy, undefined, { ...limits, budget });
    const other = createDecoder(policy, undefined, { ...limits, budget });
    const long = decoder.admit(tokens(250, 3));
    expect([decoder.hasRoom(256), decoder.hasRoom(100)]).toEqual([false, true]);
    const short = decoder.admit([1, 2]);
    for (let i = 0; i < 5; i++) decoder.step([{ slot: long.slot, id: i }]);
    decoder.step([{ slot: long.slot, id: 7 }]); // 2 x 320 positions would be too many from here on
    expect(decoder.canStep()).toBe(false);
    expect(() => decoder.step([{ slot: long.slot, id: 7 }])).toThrow(DecoderFull);
    expect(() => decoder.begin([1])).toThrow(DecoderFull);
    decoder.release(short.slot);
    const [logits] = decoder.step([{ slot: long.slot, id: 9 }]);
    expect([other.hasRoom(255), other.hasRoom(256)]).toEqual([true, false]);
    const ids = [...tokens(250, 3), 0, 1, 2, 3, 4, 7, 9];
    expect(largestDifference(logSoftmax(logits!), wholePrefill(policy, undefined, ids))).toBeLessThan(1e-4);
    decoder.dispose();
    expect(budget.taken).toBe(0);
    policy.dispose();
  });
});

describeOnBackends('common beginnings', (open) => {
  test('the next turn reads only new tokens and gives the numbers of a whole prefill', async () => {
    const policy = await smallPolicy(await open());
    const prefixes = createSharedPrefixes(config, 100 * bytesPerBlock);
    const decoder = createDecoder(policy, undefined, limits, prefixes);
    const tensors = policy.executor.tensorCount();
    const conversation = tokens(330, 11);
    const cached = [];
    for (let turn = 0; turn < 3; turn++) {
      const { slot, cachedTokens, logProbs } = readAll(decoder, conversation);
      cached.push(cachedTokens);
      expect(largestDifference(logProbs, wholePrefill(policy, undefined, conversation))).toBeLessThan(1e-4);
      for (const id of tokens(70, 5 + turn)) {
        conversation.push(id);
        decoder.step([{ slot, id }]);
      }
      decoder.release(slot);
      conversation.push(...tokens(20, 3)); // what the person says
    }
    expect(cached).toEqual([0, 6 * 64, 7 * 64]); // of 400 and 490 tokens that were computed before
    // another conversation with the same system prompt
    const other = [...conversation.slice(0, 200), ...tokens(50, 23)];
    const { cachedTokens, logProbs, slot } = readAll(decoder, other);
    expect(cachedTokens).toBe(192);
    expect(largestDifference(logProbs, wholePrefill(policy, undefined, other))).toBeLessThan(1e-4);
    decoder.release(slot);
    expect(policy.executor.tensorCount()).toBe(tensors);
    decoder.dispose();
    expect(prefixes.size).toBe(0);
    policy.dispose();
  });

  test('sequences that start together compute their common beginning once', async () => {
    const policy = await smallPolicy(await open());
    const decoder = createDecoder(
      policy,
      undefined,
      { ...limits, pieceTokens: 100 },
      createSharedPrefixes(config, 1e6),
    );
    const prompts = [1, 2, 3].map((last) => [...tokens(500, 37), last]);
    const readers = prompts.map((ids) => ({ ids, slot: decoder.begin(ids), cachedTokens: -1 }));
    while (readers.some(({ cachedTokens }) => cachedTokens < 0)) {
      for (const one of readers.filter(({ cachedTokens }) => cachedTokens < 0)) {
        const done = decoder.read(one.slot);
        if (done === undefined) continue;
        one.cachedTokens = done.cachedTokens;
        const expected = wholePrefill(policy, undefined, one.ids);
        expect(largestDifference(logSoftmax(done.logits), expected)).toBeLessThan(1e-4);
      }
    }
    expect(readers.map(({ cachedTokens }) => cachedTokens > 300)).toEqual([false, true, true]);
    decoder.dispose();
    policy.dispose();
  });

  test('different adapters share nothing', async () => {
    const policy = await smallPolicy(await open());
    const adapter = someAdapter(policy);
    const prefixes = createSharedPrefixes(config, 100 * bytesPerBlock);
    const [base, adapted] = [undefined, adapter].map((one) => createDecoder(policy, one, limits, prefixes));
    const prompt = tokens(200, 19);
    readAll(base!, prompt);
    const { cachedTokens, logProbs } = readAll(adapted!, prompt);
    expect(cachedTokens).toBe(0);
    expect(largestDifference(logProbs, wholePrefill(policy, adapter, prompt))).toBeLessThan(1e-4);
    expect(readAll(adapted!, prompt).cachedTokens).toBe(192);
    base!.dispose();
    adapted!.dispose();
    policy.dispose();
  });

  test('each owner finds only its own prompts, and hundreds of owners leave nothing behind', async () => {
    const policy = await smallPolicy(await open());
    const prefixes = createSharedPrefixes(config, 20 * bytesPerBlock);
    const decoder = createDecoder(policy, undefined, limits, prefixes);
    const cached = (ids: readonly number[], owner?: string) => {
      const { slot, cachedTokens, logProbs } = readAll(decoder, ids, owner);
      decoder.release(slot);
      return { cachedTokens, logProbs };
    };
    const prompt = tokens(200, 19);
    const { logProbs } = cached(prompt, 'ann');
    for (const other of ['bob', undefined]) {
      const read = cached(prompt, other);
      expect(read.cachedTokens).toBe(0);
      expect(largestDifference(read.logProbs, logProbs)).toBeLessThan(1e-4);
    }
    for (const owner of ['ann', 'bob', undefined]) expect(cached(prompt, owner).cachedTokens).toBe(192);
    for (let n = 0; n < 300; n++) cached([1, 2, n % 89], `short-${n}`);
    expect(cached(prompt, 'ann').cachedTokens).toBe(192);
    expect(prefixes.size).toBe(9);
    decoder.dispose();
    expect(prefixes.size).toBe(0);
    policy.dispose();
  });

  test('long beginnings are copied in parts, and dropped blocks are computed again', async () => {
    const policy = await smallPolicy(await open());
    const prefixes: SharedPrefixes = createSharedPrefixes(config, 20.5 * bytesPerBlock);
    const decoder = createDecoder(policy, undefined, limits, prefixes);
    const prompt = tokens(1500, 29);
    const first = readAll(decoder, prompt);
    decoder.release(first.slot);
    expect(prefixes.size).toBe(20);
    const second = readAll(decoder, prompt);
    expect([second.cachedTokens, second.pieces]).toEqual([20 * 64, 4]);
    expect(largestDifference(second.logProbs, first.logProbs)).toBeLessThan(1e-4);
    decoder.release(second.slot);
    decoder.release(readAll(decoder, tokens(640, 31)).slot);
    expect(readAll(decoder, prompt).cachedTokens).toBe(10 * 64);
    decoder.dispose();
    policy.dispose();
  });
});

describe('a continued conversation equals the reference', () => {
  describe.each(['llama-tiny', 'llama3-rope-tiny', 'qwen2-tiny', 'qwen3-tiny'])('%s', (name) => {
    describeOnBackends('as a second turn', (open) => {
      test('log-probs after a beginning that another sequence computed', async () => {
        const policy = await openReferenceModel(name, await open());
        const { prompts, greedy } = readModelReference(name);
        const decoder = createDecoder(
          policy,
          undefined,
          { maxSequences: 2, maxPositions: 512, pieceTokens: 24 },
          createSharedPrefixes(policy.config, 1e8),
        );
        let reused = 0;
        for (const { prompt, tokens: answer, top5_ids, top5_log_probs } of greedy) {
          const ids = prompts.find((one) => one.name === prompt)!.ids;
          const first = decoder.admit(ids);
          for (const id of answer.slice(0, 60)) decoder.step([{ slot: first.slot, id }]);
          decoder.release(first.slot);
          for (const count of [0, 30, 63]) {
            const { slot, cachedTokens, logProbs } = readAll(decoder, [...ids, ...answer.slice(0, count)]);
            reused += cachedTokens;
            const top = top5_ids[count]!.map((id) => logProbs[id]!);
            expect(largestDifference(top, top5_log_probs[count]!)).toBeLessThan(1e-4);
            decoder.release(slot);
          }
        }
        expect(reused).toBeGreaterThan(0);
        decoder.dispose();
        policy.dispose();
      });
    });
  });
});
