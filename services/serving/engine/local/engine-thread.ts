import { randomUUID } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { openCheckpoint } from '../../../../shared/policy/checkpoints/checkpoint.ts';
import type { CacheBudget } from '../../../../shared/policy/decode/cache-room.ts';
import { createDecoder } from '../../../../shared/policy/decode/decoding.ts';
import { createSharedPrefixes } from '../../../../shared/policy/decode/shared-prefixes.ts';
import { warmUpDecoding } from '../../../../shared/policy/decode/warm-up.ts';
import { openBackend } from '../../../../shared/policy/executors/backend.ts';
import { modelDigest } from '../../../../shared/policy/model/model-digest.ts';
import { loadPolicy } from '../../../../shared/policy/model/policy.ts';
import { loadChatTemplate } from '../../../../shared/policy/text/chat-template.ts';
import { loadTokenizer } from '../../../../shared/policy/text/tokenizer.ts';
import { answerCalls, type Handlers } from '../../../../shared/runtime/answer-calls.ts';
import { toolCallForm } from '../../decoding/tool-call-form.ts';
import type { Choice } from '../../generation.ts';
import { contextOf } from '../context.ts';
import { failureOf } from '../thread.ts';
import { choiceRequests, gatherChoices } from './choices.ts';
import { versionLoader } from './load-version.ts';
import type { EngineCalls, EngineEvent, EngineSetup } from './protocol.ts';
import { createRecentPrompts } from './recent-prompts.ts';
import { createScheduler } from './scheduler.ts';
import { beginSequence } from './sequence.ts';
import { createVersions } from './versions.ts';

// The thread that computes. It blocks during a step, and receives messages between steps.

const setup = workerData as EngineSetup;

const source = await openCheckpoint(setup.modelFolder);
const tokenizer = await loadTokenizer(setup.modelFolder);
const executor = await openBackend(setup.backend);
const policy = await loadPolicy(source, executor);
const baseDigest = modelDigest(setup.modelFolder); // first awaited when an adapter is loaded

const { temperature = 1, topP = 1, topK = 0, eosTokenIds } = source.generationConfig;
const model = {
  tokenizer,
  endTokenIds: new Set(eosTokenIds),
  defaults: { temperature: setup.temperature ?? temperature, topP, topK },
  toolCallForm: toolCallForm(await loadChatTemplate(setup.modelFolder)),
};
const { tokens: maxPositions, cachePositions, note } = contextOf(source.config, setup);
const budget: CacheBudget = { positions: cachePositions, taken: 0 };
const prefixes = createSharedPrefixes(source.config, setup.prefixBytes);

const limits = { maxSequences: setup.maxBatch, maxPositions, pieceTokens: setup.prefillTokens, budget };

const versions = createVersions({
  kept: setup.keptVersions,
  loadAdapter: versionLoader(policy, baseDigest),
  createDecoder: (adapter) => createDecoder(policy, adapter, limits, prefixes),
});

const scheduler = createScheduler({
  versions,
  maxBatch: setup.maxBatch,
  maxWaiting: setup.maxWaiting,
  recentPrompts: () => createRecentPrompts(setup.prefixBytes === 0 ? 0 : setup.warmPrompts),
  beginSequence: (request, cachedTokens) => beginSequence(model, request, randomUUID(), cachedTokens),
});

const handlers: Handlers<EngineCalls> = {
  generate: ({ choices, ...request }, { id, signal, tell }) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Choice[]>();
    const show = (event: EngineEvent) => tell(event);
    const abort = () => scheduler.abort(id);
    signal.addEventListener('abort', abort, { once: true });
    const listeners = gatherChoices(choices, {
      started: (version) => show({ kind: 'started', started: { version } }),
      chunk: (chunk, choice) => show({ kind: 'chunk', chunk, choice }),
      generated: resolve,
      failed: reject,
      // after the current step, which the other choices are part of
      broken: () => setImmediate(abort),
    });
    const requests = choiceRequests(request, choices);
    scheduler.add(
      id,
      requests.map((ofChoice, index) => ({ request: ofChoice, listener: listeners[index]! })),
    );
    return promise;
  },
  serve: async ({ adapter, policy: wanted }, { signal }) => {
    await scheduler.serve(adapter, wanted, signal);
    return undefined;
  },
  counters: () => ({
    ...scheduler.counters(),
    tensors: executor.tensorCount(),
    cachePositions: budget.taken,
    prefixBlocks: prefixes.size,
  }),
};

const report = [executor.report, warmUpDecoding(policy), ...(note === undefined ? [] : [note])].join('; ');
answerCalls(handlers, failureOf, report);
