import type { AdapterFile } from '../checkpoints/adapter-files.ts';
import type { Checkpoint } from '../checkpoints/checkpoint.ts';
import type { FullWeights, TrainedWeights } from '../checkpoints/full-weights.ts';
import type { Executor } from '../executors/executor.ts';
import { createRopeTable } from '../ops/rope.ts';
import { weightShapes } from './layout.ts';
import { type LoraLayer, uploadLora } from './lora.ts';
import type { Model, Network } from './model.ts';
import type { ModelConfig } from './model-config.ts';
import { atOnce } from './pieces.ts';
import { createScratch } from './scratch.ts';
import { uploadWeights } from './weights.ts';

/** The weights that a version has learned, on an executor. Dispose of it when no decoder uses it. */
export type Adapter = LoraAdapter | FullAdapter;

type LoraAdapter = {
  readonly kind: 'lora';
  readonly file: AdapterFile;
  readonly layers: readonly LoraLayer[];
  dispose(): void;
};

/** All weights of a version; those of the base stay loaded. */
type FullAdapter = { readonly kind: 'full'; readonly model: Model; dispose(): void };

/** A model on an executor. Without an adapter it is the base model. */
export type Policy = {
  readonly config: ModelConfig;
  readonly executor: Executor;
  /** Do not keep it: `replaceWeights` replaces it. */
  readonly model: Model;
  /** Uploads an adapter, or all weights of a version. Throws when it does not fit the model. */
  loadAdapter(trained: TrainedWeights): Adapter;
  /** Uploads all weights of a version, pausing after every layer. Throws as `loadAdapter` does. */
  loadFull(source: WeightSource): Generator<undefined, Adapter>;
  /** A copy of the weights that the policy was loaded with, to train all of them. */
  copyWeights(): FullWeights;
  /** Replaces all weights, given by their published names: after an optimizer step on all of them. */
  replaceWeights(weights: ReadonlyMap<string, Float32Array>): void;
  dispose(): void;
};

/** A source of weights: a checkpoint, or weights in memory. */
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

/**
 * The model and the network that compute under an adapter. The network has tensors and plain values only, so
 * that it can be an input of a graph.
 */
export function networkOf(
  policy: Pick<Policy, 'model'>,
  adapter: Adapter | undefined,
): { readonly model: Model; readonly network: Network } {
  const model = adapter?.kind === 'full' ? adapter.model : policy.model;
  const lora = adapter?.kind === 'lora' ? adapter.layers : undefined;
  return { model, network: { config: model.config, weights: model.weights, lora } };
}

/**
 * Uploads a model. Rejects if a weight is missing or has a wrong size. All functions of a policy are synchronous
 * and block the thread: in a server, run it in a worker.
 */
export async function loadPolicy(source: WeightSource, executor: Executor): Promise<Policy> {
  const { config } = source;
  const shapes = weightShapes(config);
  function* build(from: WeightSource): Generator<undefined, Model> {
    const scratch = createScratch();
    const read = (name: string) => {
      const needed = shapes.get(name)!;
      const shape = from.shape(name);
      if (shape.join() !== needed.join())
        throw new Error(`${name} has shape [${shape}], but the model needs [${needed}]`);
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
