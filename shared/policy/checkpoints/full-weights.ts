import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdapterFile } from './adapter-files.ts';
import { readAllTensors, readSafetensors, type TensorData, writeSafetensors } from './safetensors.ts';

/** All weights of a trained model: f32, by published name. */
export type FullWeights = { readonly kind: 'full'; readonly tensors: ReadonlyMap<string, TensorData> };

/** The weights of a version: an adapter for the base's weights, or weights that replace them. */
export type TrainedWeights = AdapterFile | FullWeights;

const weightsName = 'model.safetensors';
const configName = 'config.json';

/** The files of a folder in Hugging Face format that are used, besides its configuration and weights. */
const companion =
  /^(?:tokenizer.*|(?:generation_config|special_tokens_map|added_tokens|vocab)\.json|merges\.txt|chat_template\..*)$/;

/**
 * Writes weights, f32, as a complete model that transformers, vLLM and SGLang can load. Copies configuration,
 * tokenizer and chat template from `model`, the folder that training began from. Creates the folder.
 */
export async function writeFullWeights(folder: string, weights: FullWeights, model: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeSafetensors(join(folder, weightsName), weights.tensors, {
    dtype: 'F32',
    metadata: { format: 'pt' },
  });
  for (const name of (await readdir(model)).filter((name) => companion.test(name)))
    await copyFile(join(model, name), join(folder, name));
  const config = JSON.parse(await readFile(join(model, configName), 'utf8')) as Record<string, unknown>;
  const typed = { ...config, ['dtype' in config ? 'dtype' : 'torch_dtype']: 'float32' };
  await writeFile(join(folder, configName), `${JSON.stringify(typed, null, 2)}\n`);
}

/** Reads the weights that `writeFullWeights` wrote. */
export async function readFullWeights(folder: string): Promise<FullWeights> {
  const file = await readSafetensors(join(folder, weightsName));
  return { kind: 'full', tensors: await readAllTensors(file) };
}
