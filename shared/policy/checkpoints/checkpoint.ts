import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { weightShapes } from '../model/layout.ts';
import { type ModelConfig, parseModelConfig, UnsupportedModel } from '../model/model-config.ts';
import { readJson, readModel } from './read-model.ts';
import { isStoredType, readSafetensors, type SafetensorsFile } from './safetensors.ts';

/** The sampling settings that the model's makers recommend; omitted ones are undefined. */
type GenerationConfig = {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  /** Each of these ends an answer. */
  readonly eosTokenIds: readonly number[];
};

/** A model in a Hugging Face folder: its shape, and its weights one by one. */
export type Checkpoint = {
  readonly folder: string;
  readonly config: ModelConfig;
  readonly generationConfig: GenerationConfig;
  readonly names: readonly string[];
  shape(name: string): readonly number[];
  /**
   * Reads one weight from disk as f32, row-major, into `target` if given, which must have its size. Throws if
   * the checkpoint has no weight of that name.
   */
  float32(name: string, target?: Float32Array<ArrayBuffer>): Float32Array;
};

const tokenIds = z.union([z.int().transform((id) => [id]), z.array(z.int())]).nullish();
const EosField = z.looseObject({ eos_token_id: tokenIds });
const GenerationFile = EosField.extend({
  temperature: z.number().min(0).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
});
/** A shard is in the folder of its index: a path could make any file of the machine part of the model. */
const shardName = z.string().regex(/^[\w-][\w.-]*\.safetensors$/, 'a shard is a file beside its index');
const ShardIndex = z.looseObject({ weight_map: z.record(z.string(), shardName) });

/**
 * Opens a folder with config.json and model.safetensors, or shards named by model.safetensors.index.json.
 * Reads headers, but no weights. Throws DamagedModel if a file is missing, truncated or malformed;
 * UnsupportedModel as parseModelConfig does, and if a weight of the configuration is missing or has a wrong
 * shape or type.
 */
export const openCheckpoint = (folder: string): Promise<Checkpoint> =>
  readModel(folder, () => readCheckpointFiles(folder));

async function readCheckpointFiles(folder: string): Promise<Checkpoint> {
  const configJson = await readJson(join(folder, 'config.json'));
  const config = parseModelConfig(configJson);
  const generationConfig = await readGenerationConfig(folder, configJson);
  const files = await openWeights(folder);
  const faults = weightFaults(config, files);
  if (faults.length > 0) {
    const more = faults.length > shownFaults ? `; and ${faults.length - shownFaults} more` : '';
    throw new UnsupportedModel(
      `${folder} cannot be loaded: ${faults.slice(0, shownFaults).join('; ')}${more}`,
    );
  }
  const find = (name: string): SafetensorsFile => {
    const file = files.get(name);
    if (file === undefined) throw new Error(`${folder}: no weight named "${name}"`);
    return file;
  };
  return {
    folder,
    config,
    generationConfig,
    names: [...files.keys()].sort(),
    shape: (name) => find(name).shape(name),
    float32: (name, target) => find(name).float32(name, target),
  };
}

const shownFaults = 4;

/** Weights of the configuration that the files lack, or have in a wrong shape or type. */
function weightFaults(config: ModelConfig, files: ReadonlyMap<string, SafetensorsFile>): readonly string[] {
  return [...weightShapes(config)].flatMap(([name, shape]) => {
    const file = files.get(name);
    if (file === undefined) return [`no weight "${name}"`];
    const [actual, type] = [file.shape(name), file.type(name)];
    if (!isStoredType(type)) return [`"${name}" is stored as ${type} (only F32, F16 and BF16 are read)`];
    return actual.join() === shape.join()
      ? []
      : [`"${name}" has shape [${actual}], but config.json needs [${shape}]`];
  });
}

/** The file of each weight. */
async function openWeights(folder: string): Promise<ReadonlyMap<string, SafetensorsFile>> {
  const single = join(folder, 'model.safetensors');
  if (existsSync(single)) {
    const file = await readSafetensors(single);
    return new Map(file.names.map((name) => [name, file]));
  }
  const indexPath = join(folder, 'model.safetensors.index.json');
  if (!existsSync(indexPath)) {
    throw new Error(`${folder} has neither model.safetensors nor model.safetensors.index.json`);
  }
  const { weight_map } = ShardIndex.parse(await readJson(indexPath));
  const shards = new Map<string, SafetensorsFile>();
  for (const shard of new Set(Object.values(weight_map)))
    shards.set(shard, await readSafetensors(join(folder, shard)));
  const files = new Map<string, SafetensorsFile>();
  for (const [name, shard] of Object.entries(weight_map)) {
    const file = shards.get(shard)!;
    file.shape(name); // throws if the shard does not have this weight
    files.set(name, file);
  }
  return files;
}

async function readGenerationConfig(folder: string, configJson: unknown): Promise<GenerationConfig> {
  const path = join(folder, 'generation_config.json');
  const { temperature, top_p, top_k, eos_token_id } = GenerationFile.parse(
    existsSync(path) ? await readJson(path) : {},
  );
  return {
    ...(temperature != null && { temperature }),
    ...(top_p != null && { topP: top_p }),
    ...(top_k != null && { topK: top_k }),
    eosTokenIds: eos_token_id ?? EosField.parse(configJson).eos_token_id ?? [],
  };
}
