import type { AdapterFile } from './adapter-files.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Executor } from './executors/executor.ts';
import { weightShapes } from './layout.ts';
import { type LoraLayer, uploadLora } from './lora.ts';
import type { Model } from './model.ts';
import type { ModelConfig } from './model-config.ts';
import { createRopeTable } from './ops/rope.ts';
import { createScratch } from './scratch.ts';
import { uploadWeights } from './weights.ts';

/** A LoRA adapter on an executor. Dispose of it when nothing decodes with it any more. */
export type Adapter = {
  readonly file: AdapterFile;
  readonly layers: readonly LoraLayer[];
  dispose(): void;
};

/** A model on an executor. Without an adapter it is the base model. */
export type Policy = {
  readonly config: ModelConfig;
  readonly executor: Executor;
  /** Its weights may be replaced: ask for it anew at every use. */
  readonly model: Model;
  /** Uploads an adapter. Throws when it does not fit the model. */
  loadAdapter(file: AdapterFile): Adapter;
  /** Replaces all weights, given by their published names: after an optimizer step on all of them. */
  replaceWeights(weights: ReadonlyMap<string, Float32Array>): void;
  dispose(): void;
};

/** Where weights come from: a checkpoint, or weights in memory. */
export type WeightSource = Pick<Checkpoint, 'config' | 'names' | 'shape' | 'float32'>;

/** Weights in memory as a source. */
export function weightsInMemory(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
): WeightSource {
  const shapes = weightShapes(config);
  const find = (name: string): Float32Array => {
    const values = weights.get(name);
    if (values === undefined) throw new Error(`no weight named "${name}"`);
    return values;
  };
  return {
    config,
    names: [...weights.keys()],
    shape(name) {
      const { length } = find(name);
      const shape = shapes.get(name) ?? [length];
      return length === shape.reduce((product, size) => product * size, 1) ? shape : [length];
    },
    float32: find,
  };
}

/**
 * Uploads a model. Rejects when a weight is missing or of a wrong size.
 * Everything after this is synchronous and blocks its thread: run it in a worker where a server must answer.
 */
export async function loadPolicy(source: WeightSource, executor: Executor): Promise<Policy> {
  const { config } = source;
  const shapes = weightShapes(config);
  const build = (from: WeightSource): Model => {
    const scratch = createScratch();
    const read = (name: string) => {
      const needed = shapes.get(name)!;
      const found = from.shape(name);
      if (found.join() !== needed.join())
        throw new Error(`${name} has shape [${found}], the model needs [${needed}]`);
      return from.float32(name, scratch.take(needed.reduce((product, length) => product * length, 1)));
    };
    try {
      return { config, ropeTable, weights: uploadWeights(executor, config, read) };
    } finally {
      scratch.free();
    }
  };
  const ropeTable = createRopeTable(config);
  let model = build(source);
  return {
    config,
    executor,
    get model() {
      return model;
    },
    loadAdapter(file) {
      const layers = uploadLora(executor, config, file);
      return { file, layers, dispose: () => executor.dispose(layers) };
    },
    replaceWeights(weights) {
      const next = build(weightsInMemory(config, weights));
      executor.dispose(model.weights);
      model = next;
    },
    dispose: () => executor.dispose(model.weights),
  };
}
