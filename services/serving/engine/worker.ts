import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { openBackend } from '../../../shared/policy/backend.ts';
import { loadChatTemplate } from '../../../shared/policy/chat-template.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoint.ts';
import { readCheckpoint } from '../../../shared/policy/checkpoint-store.ts';
import { createDecoder } from '../../../shared/policy/decoding.ts';
import { type Adapter, loadPolicy } from '../../../shared/policy/policy.ts';
import { loadTokenizer } from '../../../shared/policy/tokenizer.ts';
import { isServiceError } from '../../../shared/service/errors.ts';
import type { PolicyVersion } from './engine.ts';
import { makePrompt } from './prompt.ts';
import type { EngineSetup, Failure, FromEngine, ToEngine } from './protocol.ts';
import { createScheduler } from './scheduler.ts';
import { beginSequence } from './sequence.ts';
import { createVersions } from './versions.ts';

// The engine's thread: everything that computes. It blocks for a step at a time and listens in between.

const port = parentPort!;
const setup = workerData as EngineSetup;
const send = (message: FromEngine) => port.postMessage(message);

const source = await openCheckpoint(setup.modelFolder);
const tokenizer = await loadTokenizer(setup.modelFolder);
const template = await loadChatTemplate(setup.modelFolder);
const executor = await openBackend(setup.backend);
const policy = await loadPolicy(source, executor);

const { temperature = 1, topP = 1, topK = 0, eosTokenIds } = source.generationConfig;
const contextTokens = Math.min(source.config.maxPositions, setup.contextTokens ?? Number.POSITIVE_INFINITY);
const model = {
  tokenizer,
  endTokenIds: new Set(eosTokenIds),
  defaults: { temperature, topP, topK },
};

const versions = createVersions({
  kept: setup.keptVersions,
  loadAdapter: readAdapterOf,
  createDecoder: (adapter) =>
    createDecoder(policy, adapter, { maxSequences: setup.maxBatch, maxPositions: contextTokens }),
});

const scheduler = createScheduler({
  versions,
  maxBatch: setup.maxBatch,
  makePrompt: (request) =>
    makePrompt({ tokenizer, template, contextTokens, context: setup.context }, request),
  beginSequence: (request, prompt) => beginSequence(model, request, prompt, randomUUID()),
});

/** The numbers that were promoted, or none: what stands in the log decides, not what lies on the disk. */
async function readAdapterOf({ version, adapter }: PolicyVersion): Promise<Adapter | undefined> {
  if (adapter === undefined) return undefined;
  const checkpoint = await readCheckpoint(adapter.folder);
  if (checkpoint.state.digest !== adapter.digest) {
    throw new Error(`${adapter.folder} holds other numbers than version ${version} had when it was promoted`);
  }
  return policy.loadAdapter(checkpoint.adapter);
}

function failureOf(error: unknown): Failure {
  if (isServiceError(error)) return { row: error.name, message: error.message, param: error.param };
  return { row: 'ENGINE_FAILED', message: (error as Error).message, param: null };
}

port.on('message', (message: ToEngine) => {
  switch (message.kind) {
    case 'generate': {
      const { id, request } = message;
      scheduler.add(id, request, {
        started: (version) => send({ kind: 'started', id, started: { version } }),
        chunk: (chunk) => send({ kind: 'chunk', id, chunk }),
        generated: (generated) => send({ kind: 'generated', id, generated }),
        failed: (error) => send({ kind: 'failed', id, failure: failureOf(error) }),
      });
      return;
    }
    case 'abort':
      scheduler.abort(message.id);
      return;
    case 'serve':
      scheduler.serve(message.policy).then(
        () => send({ kind: 'served', id: message.id }),
        (error) => send({ kind: 'failed', id: message.id, failure: failureOf(error) }),
      );
      return;
    case 'counters': {
      const counters = { ...scheduler.counters(), tensors: executor.tensorCount() };
      send({ kind: 'counters', id: message.id, counters });
      return;
    }
    case 'close':
      scheduler.close();
      port.close();
      return;
  }
});

send({ kind: 'ready', report: executor.report, contextTokens });
