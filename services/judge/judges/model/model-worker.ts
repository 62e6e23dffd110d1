import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { openBackend } from '../../../../shared/policy/backend.ts';
import { loadChatTemplate } from '../../../../shared/policy/chat-template.ts';
import { openCheckpoint } from '../../../../shared/policy/checkpoint.ts';
import { createDecoder } from '../../../../shared/policy/decoding.ts';
import { floatsPerPosition } from '../../../../shared/policy/ops/kv-cache.ts';
import { loadPolicy } from '../../../../shared/policy/policy.ts';
import { promptRenderer } from '../../../../shared/policy/render-prompt.ts';
import { loadTokenizer } from '../../../../shared/policy/tokenizer.ts';
import { warmUpDecoding } from '../../../../shared/policy/warm-up.ts';
import { AT_ONCE, createSideBySide } from './side-by-side.ts';
import type { FromThread, ModelSetup, ToThread } from './thread-protocol.ts';

// The thread of the judge model. It blocks for a step at a time and listens in between.

/** Of the keys and values of all answers that are generated at a time. */
const CACHE_BYTES = 2 * 2 ** 30;
/** Nobody waits for a verdict as somebody waits for an answer: serving goes first. */
const NICENESS = 10;

const port = parentPort!;
const tell = (message: FromThread) => port.postMessage(message);
const { folder, backend, temperature, maxTokens } = workerData as ModelSetup;
// Linux: of this thread and those that the backend starts from it
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
const answers = createSideBySide({
  decoder: createDecoder(policy, undefined, { maxSequences: AT_ONCE, maxPositions }),
  sampling: { temperature, topP, topK },
  endIds: new Set(eosTokenIds),
  ...{ maxTokens, maxPositions, cachePositions },
  answered: ({ id, promptIds }, ids) => {
    const text = tokenizer.decode(ids, { skipSpecial: true });
    const said = { text, promptTokens: promptIds.length, completionTokens: ids.length };
    tell({ kind: 'said', id, said });
  },
});

/** The kind of the error alone: its message may hold words of the conversation. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

let isAdvancing = false;
function advance(): void {
  try {
    isAdvancing = answers.advance();
  } catch (error) {
    isAdvancing = false;
    for (const id of answers.dropAll()) tell({ kind: 'failed', id, reason: reasonOf(error) });
  }
  if (isAdvancing) setImmediate(advance); // what was said meanwhile comes first
}

function ask({ id, messages, seed }: Extract<ToThread, { kind: 'ask' }>): void {
  const promptIds = tokenizer.encode(render({ messages, tools: [], variables: {} }));
  const promptTokens = promptIds.length;
  if (promptTokens >= maxPositions) {
    // to ask again would change nothing: an answer without a verdict
    const text = `(the prompt has ${promptTokens} tokens, and the model has room for ${maxPositions})`;
    tell({ kind: 'said', id, said: { text, promptTokens, completionTokens: 0 } });
    return;
  }
  answers.ask({ id, promptIds, seed });
  if (isAdvancing) return;
  isAdvancing = true;
  setImmediate(advance);
}

port.on('message', (message: ToThread) => {
  try {
    if (message.kind === 'ask') ask(message);
    else answers.drop(message.id);
  } catch (error) {
    tell({ kind: 'failed', id: message.id, reason: reasonOf(error) });
  }
});
const warm = warmUpDecoding(policy);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
tell({ kind: 'ready', report: `${executor.report}; ${warm}; loaded in ${seconds} s` });
