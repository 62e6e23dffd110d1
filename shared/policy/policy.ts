import type { AdapterFile } from './adapter-files.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { Executor } from './executors/executor.ts';
import type { FullWeights, TrainedWeights } from './full-weights.ts';
import { weightShapes } from './layout.ts';
import { type LoraLayer, uploadLora } from './lora.ts';
import type { Model } from './model.ts';
import type { ModelConfig } from './model-config.ts';
import { createRopeTable } from './ops/rope.ts';
import { atOnce } from './pieces.ts';
import { createScratch } from './scratch.ts';
import { uploadWeights } from './weights.ts';

/** What a version has learned, on an executor. Dispose of it when nothing decodes with it any more. */
export type Adapter = LoraAdapter | FullAdapter;

type LoraAdapter = {
  readonly kind: 'lora';
  readonly file: AdapterFile;
  readonly layers: readonly LoraLayer[];
  dispose(): void;
};

/** All weights, beside the base's, which stay. */
type FullAdapter = { readonly kind: 'full'; readonly model: Model; dispose(): void };

/** A model on an executor. Without an adapter it is the base model. */
export type Policy = {
  readonly config: ModelConfig;
  readonly executor: Executor;
  /** Its weights may be replaced: ask for it anew at every use. */
  readonly model: Model;
  /** Uploads an adapter, or all weights of a version. Throws when it does not fit the model. */
  loadAdapter(trained: TrainedWeights): Adapter;
  /** Uploads all weights of a version and pauses after every layer. Throws as `loadAdapter` does. */
  loadFull(source: WeightSource): Generator<undefined, Adapter>;
  /** A copy of the weights that it was loaded with, for training all of them. */
  copyWeights(): FullWeights;
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

const tensorsAsSource = (config: ModelConfig, { tensors }: FullWeights): WeightSource =>
  weightsInMemory(config, new Map([...tensors].map(([name, { values }]) => [name, values])));

/** What a policy computes with under an adapter: the weights, and what is added to their products. */
export const networkOf = (
  policy: Pick<Policy, 'model'>,
  adapter: Adapter | undefined,
): { readonly model: Model; readonly lora: readonly LoraLayer[] | undefined } =>
  adapter?.kind === 'full'
    ? { model: adapter.model, lora: undefined }
    : { model: policy.model, lora: adapter?.layers };

/**
 * Uploads a model. Rejects when a weight is missing or of a wrong size.
 * Everything after this is synchronous and blocks its thread: run it in a worker where a server must answer.
 */
export async function loadPolicy(source: WeightSource, executor: Executor): Promise<Policy> {
  const { config } = source;
  const shapes = weightShapes(config);
  function* build(from: WeightSource): Generator<undefined, Model> {
    const scratch = createScratch();
    const read = (name: string) => {
      const needed = shapes.get(name)!;
      const found = from.shape(name);
      if (found.join() !== needed.join())
        throw new Error(`${name} has shape [${found}], the model needs [${needed}]`);
      return from.float32(name, scratch.take(needed.reduce((product, length) => product * length, 1)));
    };
    try {
      return { config, ropeTable, weights: yield* uploadWeights(executor, config, read) };
    } finally {
      scratch.free();
    }
  }
  function* loadFull(from: WeightSource): Generator<undefined, Adapter> {
    const full = yield* build(from);
    return { kind: 'full', model: full, dispose: () => executor.dispose(full.weights) };
  }
  const ropeTable = createRopeTable(config);
  let model = atOnce(build(source));
  return {
    config,
    executor,
    get model() {
      return model;
    },
    loadAdapter(trained) {
      if (trained.kind === 'full') return atOnce(loadFull(tensorsAsSource(config, trained)));
      const layers = uploadLora(executor, config, trained);
      return { kind: 'lora', file: trained, layers, dispose: () => executor.dispose(layers) };
    },
    loadFull,
    copyWeights: () => ({
      kind: 'full',
      tensors: new Map(
        [...shapes].map(([name, shape]) => [name, { shape, values: source.float32(name).slice() }] as const),
      ),
    }),
    replaceWeights(weights) {
      const next = atOnce(build(weightsInMemory(config, weights)));
      executor.dispose(model.weights);
      model = next;
    },
    dispose: () => executor.dispose(model.weights),
  };
}
