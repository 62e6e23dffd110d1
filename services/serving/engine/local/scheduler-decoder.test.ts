import { expect, test } from 'vitest';
import { createDecoder } from '../../../../shared/policy/decode/decoding.ts';
import { createSharedPrefixes } from '../../../../shared/policy/decode/shared-prefixes.ts';
import { openBackend } from '../../../../shared/policy/executors/backend.ts';
import type { ModelConfig } from '../../../../shared/policy/model/model-config.ts';
import type { Policy } from '../../../../shared/policy/model/policy.ts';
import { decidedPolicy } from '../../../../shared/policy/testing/policy.ts';
import type { Generated } from '../../generation.ts';
import type { SequenceRequest } from '../sequence-text.ts';
import { createRecentPrompts } from './recent-prompts.ts';
import { createScheduler } from './scheduler.ts';
import type { Sequence } from './sequence.ts';
import { createVersions } from './versions.ts';

const config: ModelConfig = {
  family: 'llama',
  vocabularySize: 61,
  hiddenSize: 16,
  layers: 1,
  heads: 2,
  keyValueHeads: 1,
  headSize: 8,
  intermediateSize: 24,
  maxPositions: 768,
  ropeTheta: 10_000,
  ropeScaling: undefined,
  normEpsilon: 1e-6,
  tiedHead: true,
  attentionBias: false,
  queryKeyNorm: false,
};

/** Its weights are so large that the likeliest token is never close to the second. */
const smallPolicy = async (): Promise<Policy> =>
  decidedPolicy(await openBackend('wasm'), config, 'scheduler', 20);

/** Always the likeliest token, so that an answer depends only on its prompt. */
function greedySequence({ prompt }: SequenceRequest): Sequence {
  const ids: number[] = [];
  return {
    take: (logits) => {
      const id = logits.reduce((best, logit, index) => (logit > logits[best]! ? index : best), 0);
      ids.push(id);
      return { next: ids.length < prompt.maxTokens ? id : undefined, chunk: undefined };
    },
    result: () => ({ ids }) as unknown as Generated,
  };
}

type Room = { readonly positions: number; readonly pieceTokens: number; readonly prefixBytes: number };

/** Answers to five concurrent requests, one of them to another version, with the counters of the engine. */
async function answers(policy: Policy, { positions, pieceTokens, prefixBytes }: Room) {
  const budget = { positions, taken: 0 };
  const prefixes = createSharedPrefixes(config, prefixBytes);
  const versions = createVersions({
    kept: 0,
    loadAdapter: async () => undefined,
    createDecoder: (adapter) =>
      createDecoder(policy, adapter, { maxSequences: 3, maxPositions: 768, pieceTokens, budget }, prefixes),
  });
  const scheduler = createScheduler({
    versions,
    maxBatch: 3,
    maxWaiting: 9,
    recentPrompts: () => createRecentPrompts(2),
    beginSequence: greedySequence,
  });
  await scheduler.serve('default', { version: 0 });
  const prompts = [220, 90, 250, 3, 240].map((length, which) =>
    Array.from({ length }, (_, index) => (index < 80 ? index : index * (which + 2)) % 61),
  );
  const asked = prompts.map(
    (promptIds, id) =>
      new Promise<readonly number[]>((resolve, reject) =>
        scheduler.add(id, [
          {
            request: {
              target: id === 2 ? { kind: 'pinned', version: 7 } : { kind: 'live', adapter: 'default' },
              sampling: {
                stop: [],
                frequencyPenalty: 0,
                presencePenalty: 0,
                repetitionPenalty: 1,
                logitBias: [],
              },
              prompt: { promptIds, maxTokens: 60 },
              callsTools: false,
            },
            listener: {
              started: () => {},
              chunk: () => {},
              generated: (generated) => resolve((generated as unknown as { ids: readonly number[] }).ids),
              failed: reject,
            },
          },
        ]),
      ),
  );
  const ids = await Promise.all(asked);
  const { preemptions, cachedTokens } = scheduler.counters();
  return { ids, preemptions, cachedTokens, taken: budget.taken };
}

test('answers are the same with little room, in small pieces or from the cache', async () => {
  const policy = await smallPolicy();
  const before = policy.executor.tensorCount();
  const plain = await answers(policy, { positions: 1e9, pieceTokens: 768, prefixBytes: 0 });
  expect(plain).toMatchObject({ preemptions: 0, cachedTokens: 0, taken: 0 });
  expect(new Set(plain.ids.map(String)).size).toBe(5);
  const short = await answers(policy, { positions: 768, pieceTokens: 50, prefixBytes: 0 });
  expect(short.ids).toEqual(plain.ids);
  expect(short.preemptions).toBeGreaterThan(0);
  const known = await answers(policy, { positions: 768, pieceTokens: 50, prefixBytes: 1e6 });
  expect(known.ids).toEqual(plain.ids);
  expect(known.cachedTokens).toBeGreaterThan(0);
  expect([short.taken, known.taken]).toEqual([0, 0]);
  expect(policy.executor.tensorCount()).toBe(before);
  policy.dispose();
});

test('a new version has read the latest prompts before its first answers begin', async () => {
  const policy = await smallPolicy();
  const before = policy.executor.tensorCount();
  const budget = { positions: 4000, taken: 0 };
  const prefixes = createSharedPrefixes(config, 1e6);
  const versions = createVersions({
    kept: 0,
    loadAdapter: async () => undefined,
    createDecoder: (adapter) =>
      createDecoder(
        policy,
        adapter,
        { maxSequences: 3, maxPositions: 768, pieceTokens: 50, budget },
        prefixes,
      ),
  });
  const known: number[] = [];
  const scheduler = createScheduler({
    versions,
    maxBatch: 3,
    maxWaiting: 9,
    recentPrompts: () => createRecentPrompts(1),
    beginSequence: (request, cachedTokens) => {
      known.push(cachedTokens);
      return greedySequence(request);
    },
  });
  const prompt = Array.from({ length: 400 }, (_, index) => (index * 7) % 61);
  let call = 0;
  const ask = (promptIds: readonly number[], maxTokens: number) =>
    new Promise<readonly number[]>((resolve, reject) => {
      const listener = {
        started: () => {},
        chunk: () => {},
        generated: (generated: Generated) =>
          resolve((generated as unknown as { ids: readonly number[] }).ids),
        failed: reject,
      };
      const sampling = {
        stop: [],
        frequencyPenalty: 0,
        presencePenalty: 0,
        repetitionPenalty: 1,
        logitBias: [],
      };
      const request = {
        target: { kind: 'live' as const, adapter: 'default' },
        sampling,
        prompt: { promptIds, maxTokens },
      };
      scheduler.add(call++, [{ request: { ...request, callsTools: false }, listener }]);
    });
  await scheduler.serve('default', { version: 0 });
  const first = await ask(prompt, 5);
  const streaming = ask(prompt, 200);
  await scheduler.serve('default', { version: 1 });
  expect(await ask(prompt, 5)).toEqual(first);
  expect((await streaming).length).toBe(200);
  expect(known).toEqual([0, 384, 384]);
  expect(scheduler.counters().versions).toEqual(['base@v1']);
  expect(budget.taken).toBe(0);
  expect(policy.executor.tensorCount()).toBe(before);
  policy.dispose();
});
