import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { openBackend } from '../../../shared/policy/backend.ts';
import { loadChatTemplate } from '../../../shared/policy/chat-template.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoint.ts';
import { type CacheBudget, createDecoder } from '../../../shared/policy/decoding.ts';
import { modelDigest } from '../../../shared/policy/model-digest.ts';
import { loadPolicy } from '../../../shared/policy/policy.ts';
import { createSharedPrefixes } from '../../../shared/policy/shared-prefixes.ts';
import { loadTokenizer } from '../../../shared/policy/tokenizer.ts';
import { warmUpDecoding } from '../../../shared/policy/warm-up.ts';
import { toolCallForm } from '../chat/tool-call-form.ts';
import { choiceRequests, gatherChoices } from './choices.ts';
import { contextOf } from './context.ts';
import { versionLoader } from './load-version.ts';
import type { EngineCalls, EngineEvent, EngineSetup } from './protocol.ts';
import { createRecentPrompts } from './recent-prompts.ts';
import { createScheduler } from './scheduler.ts';
import { beginSequence } from './sequence.ts';
import { type FromThread, failureOf, type ToThread } from './thread.ts';
import { createVersions } from './versions.ts';

// Everything that computes. It blocks for a step at a time and listens in between.

const port = parentPort!;
const setup = workerData as EngineSetup;
const send = (message: FromThread) => port.postMessage(message);

const source = await openCheckpoint(setup.modelFolder);
const tokenizer = await loadTokenizer(setup.modelFolder);
const executor = await openBackend(setup.backend);
const policy = await loadPolicy(source, executor);
const baseDigest = modelDigest(setup.modelFolder); // nobody waits for it before the first adapter comes

const { temperature = 1, topP = 1, topK = 0, eosTokenIds } = source.generationConfig;
const model = {
  tokenizer,
  endTokenIds: new Set(eosTokenIds),
  defaults: { temperature, topP, topK },
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

/** Versions that are about to be served, by call. */
const serving = new Map<number, AbortController>();

type Asked<Name extends keyof EngineCalls> = EngineCalls[Name]['ask'];

port.on('message', (message: ToThread) => {
  const { id } = message;
  const tell = (event: EngineEvent) => send({ kind: 'event', id, event });
  const resolve = (result: unknown) => send({ kind: 'result', id, result });
  const reject = (error: unknown) => send({ kind: 'failed', id, failure: failureOf(error) });
  if (message.kind === 'abort') {
    serving.get(id)?.abort();
    scheduler.abort(id);
    return;
  }
  switch (message.name as keyof EngineCalls) {
    case 'generate': {
      const { choices, ...request } = message.ask as Asked<'generate'>;
      const listeners = gatherChoices(choices, {
        started: (version) => tell({ kind: 'started', started: { version } }),
        chunk: (chunk, choice) => tell({ kind: 'chunk', chunk, choice }),
        generated: resolve,
        failed: reject,
        // not amid a step, which the others are part of
        broken: () => setImmediate(() => scheduler.abort(id)),
      });
      const requests = choiceRequests(request, choices);
      scheduler.add(
        id,
        requests.map((one, index) => ({ request: one, listener: listeners[index]! })),
      );
      return;
    }
    case 'serve': {
      const stop = new AbortController();
      serving.set(id, stop);
      const { adapter, policy: wanted } = message.ask as Asked<'serve'>;
      const served = scheduler.serve(adapter, wanted, stop.signal);
      served.then(resolve, reject).finally(() => serving.delete(id));
      return;
    }
    case 'counters':
      resolve({
        ...scheduler.counters(),
        tensors: executor.tensorCount(),
        cachePositions: budget.taken,
        prefixBlocks: prefixes.size,
      });
      return;
  }
});

const report = [executor.report, warmUpDecoding(policy), ...(note === undefined ? [] : [note])].join('; ');
send({ kind: 'ready', report });
