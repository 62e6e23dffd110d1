import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { unlessAborted } from '../../../../shared/lang/async.ts';
import { openCheckpoint } from '../../../../shared/policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../../../../shared/policy/decode/decoding.ts';
import { warmUpDecoding } from '../../../../shared/policy/decode/warm-up.ts';
import { openBackend } from '../../../../shared/policy/executors/backend.ts';
import { loadPolicy } from '../../../../shared/policy/model/policy.ts';
import { floatsPerPosition } from '../../../../shared/policy/ops/kv-cache.ts';
import { loadChatTemplate } from '../../../../shared/policy/text/chat-template.ts';
import { promptRenderer } from '../../../../shared/policy/text/render-prompt.ts';
import { loadTokenizer } from '../../../../shared/policy/text/tokenizer.ts';
import { answerCalls, type OneCall } from '../../../../shared/runtime/answer-calls.ts';
import { kindOfError } from '../thread-errors.ts';
import { AT_ONCE, createSideBySide } from './side-by-side.ts';
import type { Asked, ModelCalls, ModelSetup, Said } from './thread-protocol.ts';

// The thread of the judge model. It blocks for one decoding step at a time and reads messages in between.

/** Memory limit for the keys and values of all answers in progress. */
const CACHE_BYTES = 2 * 2 ** 30;
/** Serving has priority: people wait for answers, but not for verdicts. */
const NICENESS = 10;

const { folder, backend, temperature, maxTokens } = workerData as ModelSetup;
// on Linux this covers this thread and the threads that the backend starts from it
if (process.platform === 'linux') setPriority(NICENESS);

const started = performance.now();
const source = await openCheckpoint(folder);
const tokenizer = await loadTokenizer(folder);
const render = promptRenderer(tokenizer, await loadChatTemplate(folder));
const executor = await openBackend(backend);
const policy = await loadPolicy(source, executor);

const { topP = 1, topK = 0, eosTokenIds } = source.generationConfig;
const positionBytes = Float32Array.BYTES_PER_ELEMENT * floatsPerPosition(source.config);
const cachePositions = Math.floor(CACHE_BYTES / positionBytes);
const maxPositions = Math.min(source.config.maxPositions, cachePositions);
/** By call. */
const asked = new Map<number, Pick<PromiseWithResolvers<Said>, 'resolve' | 'reject'>>();
const answers = createSideBySide({
  decoder: createDecoder(policy, undefined, { maxSequences: AT_ONCE, maxPositions }),
  sampling: { temperature, topP, topK },
  endIds: new Set(eosTokenIds),
  maxTokens,
  maxPositions,
  cachePositions,
  answered: ({ id, promptIds }, ids) => {
    const text = tokenizer.decode(ids, { skipSpecial: true });
    asked.get(id)?.resolve({ text, promptTokens: promptIds.length, completionTokens: ids.length });
  },
});

let isAdvancing = false;
function advance(): void {
  try {
    isAdvancing = answers.advance();
  } catch (error) {
    isAdvancing = false;
    for (const id of answers.dropAll()) asked.get(id)?.reject(error);
  }
  if (isAdvancing) setImmediate(advance); // messages that have arrived come first
}

async function ask({ messages, seed }: Asked, { id, signal }: OneCall): Promise<Said> {
  const promptIds = tokenizer.encode(render({ messages, tools: [], variables: {} }));
  const promptTokens = promptIds.length;
  if (promptTokens >= maxPositions) {
    // a retry would not help, so this counts as an answer without a verdict
    const text = `(the prompt has ${promptTokens} tokens, and the model has room for ${maxPositions})`;
    return { text, promptTokens, completionTokens: 0 };
  }
  const { promise, resolve, reject } = Promise.withResolvers<Said>();
  asked.set(id, { resolve, reject });
  answers.ask({ id, promptIds, seed });
  if (!isAdvancing) {
    isAdvancing = true;
    setImmediate(advance);
  }
  // the caller waits no longer
  const drop = () => {
    answers.drop(id);
    throw signal.reason;
  };
  return unlessAborted(promise, signal, drop).finally(() => asked.delete(id));
}

const warm = warmUpDecoding(policy);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
answerCalls<ModelCalls>({ ask }, kindOfError, `${executor.report}; ${warm}; loaded in ${seconds} s`);
