import { z } from 'zod';
import { openCheckpoint } from '../checkpoints/checkpoint.ts';
import { readSafetensors } from '../checkpoints/safetensors.ts';
import type { Executor } from '../executors/executor.ts';
import { loadPolicy, type Policy } from '../model/policy.ts';
import type { PolicySequence } from '../train/batching.ts';
import { readReference, referencePath } from './reference-fixtures.ts';

/** The reference models: every family, every stored type, one in shards. */
export const models = [
  'llama-tiny',
  'llama3-rope-tiny',
  'qwen2-tiny',
  'qwen3-tiny',
  'qwen3-tiny-untied-sharded',
  'llama-tiny-f16',
] as const;

/** Those with gradients, and with an adapter that PEFT wrote. */
export const trainedModels = ['llama-tiny', 'qwen2-tiny', 'qwen3-tiny'] as const;

/** Absolute, in nats: of log-probs anywhere, between serving, training and the reference. */
export const logProbTolerance = 1e-4;
/** Absolute: of logits and of the residual stream. */
export const logitTolerance = 2e-4;

const Ids = z.array(z.int());
const Padded = z.looseObject({ input_ids: z.array(Ids), attention_mask: z.array(Ids), logits: z.string() });
const ModelReference = z.looseObject({
  prompts: z.array(
    z.object({
      name: z.string(),
      ids: Ids,
      logits: z.string(),
      logits_from_position: z.int(),
      /** by temperature: log p(ids[t + 1] | ids[..t]) */
      log_probs: z.record(z.string(), z.array(z.number())),
    }),
  ),
  hidden: z.looseObject({ prompt: z.string(), names: z.array(z.string()) }),
  batch_right: Padded,
  batch_left: Padded,
  greedy: z.array(
    z.looseObject({
      prompt: z.string(),
      tokens: Ids,
      top5_ids: z.array(Ids),
      top5_log_probs: z.array(z.array(z.number())),
    }),
  ),
});
export type ModelReference = z.output<typeof ModelReference>;

export const modelFolderOf = (name: string): string => referencePath(`models/${name}`);
export const readModelReference = (name: string): ModelReference =>
  ModelReference.parse(readReference(`models/${name}/reference.json`));
export const readTensors = (name: string, file: string) =>
  readSafetensors(referencePath(`models/${name}/${file}`));
export const openReferenceModel = async (name: string, executor: Executor): Promise<Policy> =>
  loadPolicy(await openCheckpoint(modelFolderOf(name)), executor);

/** A padded batch with a mask of the tokens that are predicted. */
export const ResponseBatch = z.looseObject({
  input_ids: z.array(Ids),
  attention_mask: z.array(Ids),
  response_mask: z.array(Ids),
});
export const sequencesOf = (batch: z.output<typeof ResponseBatch>): PolicySequence[] =>
  batch.input_ids.map((ids, row) => {
    const start = batch.response_mask[row]!.indexOf(1);
    const end = batch.attention_mask[row]!.lastIndexOf(1) + 1;
    return { promptIds: ids.slice(0, start), responseIds: ids.slice(start, end) };
  });
