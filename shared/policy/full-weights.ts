import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdapterFile } from './adapter-files.ts';
import { readAllTensors, readSafetensors, type TensorData, writeSafetensors } from './safetensors.ts';

/** Every weight of a model, trained: f32, by its published name. */
export type FullWeights = { readonly kind: 'full'; readonly tensors: ReadonlyMap<string, TensorData> };

/** What a version has learned: an adapter over the base's weights, or weights that stand in their place. */
export type TrainedWeights = AdapterFile | FullWeights;

const weightsName = 'model.safetensors';
const configName = 'config.json';

/** What a folder in Hugging Face format holds besides its configuration and weights, as far as it is read. */
const companion =
  /^(?:tokenizer.*|(?:generation_config|special_tokens_map|added_tokens|vocab)\.json|merges\.txt|chat_template\..*)$/;

/**
 * Writes weights, f32, as a model of its own that transformers, vLLM and SGLang load as it is: configuration,
 * tokenizer and chat template are those of `model`, the folder that training began from. Makes the folder.
 */
export async function writeFullWeights(folder: string, weights: FullWeights, model: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeSafetensors(join(folder, weightsName), weights.tensors, {
    dtype: 'F32',
    metadata: { format: 'pt' },
  });
  for (const name of (await readdir(model)).filter((one) => companion.test(one)))
    await copyFile(join(model, name), join(folder, name));
  const config = JSON.parse(await readFile(join(model, configName), 'utf8')) as Record<string, unknown>;
  const typed = { ...config, ['dtype' in config ? 'dtype' : 'torch_dtype']: 'float32' };
  await writeFile(join(folder, configName), `${JSON.stringify(typed, null, 2)}\n`);
}

/** Reads weights as they were written. */
export async function readFullWeights(folder: string): Promise<FullWeights> {
  const file = await readSafetensors(join(folder, weightsName));
  return { kind: 'full', tensors: await readAllTensors(file) };
}
