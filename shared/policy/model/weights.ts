import type { Executor, Tensor } from '../executors/executor.ts';
import { gatherColumns, gatherRows, type Indices } from '../ops/embedding.ts';
import { type Linear, type LinearGradients, uploadMatrix } from '../ops/linear.ts';
import {
  copyRows,
  embeddingName,
  finalNormName,
  headName,
  interleavedRow,
  type LinearLayout,
  type LinearName,
  layerPrefix,
  linearLayouts,
} from './layout.ts';
import type { ModelConfig } from './model-config.ts';
import { createScratch } from './scratch.ts';

export type LayerWeights = Readonly<Record<LinearName, Linear>> & {
  /** [hiddenSize] */
  readonly attentionNorm: Tensor;
  /** Qwen3: gains of every query and key head, [heads + keyValueHeads, headSize]. */
  readonly queryKeyNorm: Tensor | undefined;
  readonly mlpNorm: Tensor;
};

/** A model's weights on an executor. */
export type Weights = {
  /** [vocabularySize, hiddenSize]; undefined if the head is tied: then its columns are the embedding. */
  readonly embedding: Tensor | undefined;
  readonly layers: readonly LayerWeights[];
  readonly finalNorm: Tensor;
  /** [hiddenSize, vocabularySize]; a tied one is the embedding too. */
  readonly head: Linear;
};

/** The embeddings of tokens, [ids.length, hiddenSize]. */
export const embed = (
  executor: Executor,
  { embedding, head }: Pick<Weights, 'embedding' | 'head'>,
  ids: Indices,
): Tensor =>
  embedding === undefined ? gatherColumns(executor, head.matrix, ids) : gatherRows(executor, embedding, ids);

/** Gradients of one layer, in the shapes of its weights ([out, in] for matrices). */
export type LayerGradients = Readonly<Record<LinearName, LinearGradients>> & {
  readonly attentionNorm: Tensor | undefined;
  readonly queryKeyNorm: Tensor | undefined;
  readonly mlpNorm: Tensor | undefined;
};

/** Reads a weight by its published name. The result is valid until the next call. */
type ReadWeight = (name: string) => Float32Array;

/** Reads the parts of stacked projections, one stack at a time: each call reuses the memory of the last. */
function createStacker(config: ModelConfig, read: ReadWeight) {
  const scratch = createScratch();
  return (prefix: string, layout: LinearLayout, kind: 'weight' | 'bias'): Float32Array => {
    const width = kind === 'weight' ? layout.inputs : 1;
    const stacked = scratch.take(layout.outputs * width);
    let row = 0;
    for (const part of layout.parts) {
      const published = read(`${prefix}${part.path}.${kind}`);
      const rowLayout = { ...part, width, headSize: config.headSize };
      copyRows({ values: published, row: 0 }, { values: stacked, row }, rowLayout);
      row += part.rows;
    }
    return stacked;
  };
}

/**
 * Uploads a model's weights and pauses after every layer, so that the thread can do other work. The caller owns
 * the tensors once all are uploaded.
 */
export function* uploadWeights(
  executor: Executor,
  config: ModelConfig,
  read: ReadWeight,
): Generator<undefined, Weights> {
  const { hiddenSize, vocabularySize, heads, keyValueHeads, headSize } = config;
  const layouts = linearLayouts(config);
  const stack = createStacker(config, read);
  const vector = (name: string): Tensor => executor.upload(read(name), [hiddenSize]);
  const linear = (prefix: string, name: LinearName): Linear => {
    const layout = layouts[name];
    const biased = config.attentionBias && (name === 'queryKey' || name === 'value');
    return {
      matrix: uploadMatrix(executor, stack(prefix, layout, 'weight'), layout.outputs, layout.inputs),
      bias: biased ? executor.upload(stack(prefix, layout, 'bias'), [layout.outputs]) : undefined,
    };
  };
  const headGains = (prefix: string): Tensor => {
    const [query, key] = ['q', 'k'].map((kind) => read(`${prefix}self_attn.${kind}_norm.weight`).slice()) as [
      Float32Array,
      Float32Array,
    ];
    const gains = new Float32Array((heads + keyValueHeads) * headSize);
    for (let i = 0; i < gains.length; i++)
      gains[interleavedRow(i, headSize)] = (i < heads * headSize ? query : key)[i % headSize]!;
    return executor.upload(gains, [heads + keyValueHeads, headSize]);
  };
  const outer = () => {
    const matrixOf = (name: string) => uploadMatrix(executor, read(name), vocabularySize, hiddenSize);
    const finalNorm = vector(finalNormName);
    if (config.tiedHead) {
      const matrix = matrixOf(embeddingName);
      return { embedding: undefined, finalNorm, head: { matrix, bias: undefined } };
    }
    const embedding = executor.upload(read(embeddingName), [vocabularySize, hiddenSize]);
    return { embedding, finalNorm, head: { matrix: matrixOf(headName), bias: undefined } };
  };
  const layerOf = (prefix: string): LayerWeights => ({
    attentionNorm: vector(`${prefix}input_layernorm.weight`),
    queryKey: linear(prefix, 'queryKey'),
    queryKeyNorm: config.queryKeyNorm ? headGains(prefix) : undefined,
    value: linear(prefix, 'value'),
    output: linear(prefix, 'output'),
    mlpNorm: vector(`${prefix}post_attention_layernorm.weight`),
    gateUp: linear(prefix, 'gateUp'),
    down: linear(prefix, 'down'),
  });
  const uploaded: unknown[] = [];
  const keep = <Tree>(make: () => Tree): Tree => {
    const tree = executor.scope(make);
    uploaded.push(tree);
    return tree;
  };
  try {
    const outerWeights = keep(outer);
    const layers: LayerWeights[] = [];
    for (let layer = 0; layer < config.layers; layer++) {
      yield;
      layers.push(keep(() => layerOf(layerPrefix(layer))));
    }
    return { ...outerWeights, layers };
  } catch (error) {
    executor.dispose(uploaded);
    throw error;
  }
}

/** Reads one layer's gradients, by published name. */
export function readLayerGradients(
  executor: Executor,
  config: ModelConfig,
  layer: number,
  gradients: LayerGradients,
): Map<string, Float32Array> {
  const { headSize, heads } = config;
  const prefix = layerPrefix(layer);
  const result = new Map<string, Float32Array>();
  for (const [name, layout] of Object.entries(linearLayouts(config)) as [LinearName, LinearLayout][]) {
    for (const kind of ['weight', 'bias'] as const) {
      const tensor = gradients[name][kind];
      if (tensor === undefined) continue;
      const stacked = executor.read(tensor);
      const width = kind === 'weight' ? layout.inputs : 1;
      let row = 0;
      for (const part of layout.parts) {
        const values = new Float32Array(part.rows * width);
        const rowLayout = { ...part, width, headSize, back: true };
        copyRows({ values: stacked, row }, { values, row: 0 }, rowLayout);
        result.set(`${prefix}${part.path}.${kind}`, values);
        row += part.rows;
      }
    }
  }
  if (gradients.attentionNorm)
    result.set(`${prefix}input_layernorm.weight`, executor.read(gradients.attentionNorm));
  if (gradients.mlpNorm)
    result.set(`${prefix}post_attention_layernorm.weight`, executor.read(gradients.mlpNorm));
  if (gradients.queryKeyNorm) {
    const gains = executor.read(gradients.queryKeyNorm);
    const [query, key] = [new Float32Array(headSize), new Float32Array(headSize)];
    for (let i = 0; i < gains.length; i++) {
      (i < heads * headSize ? query : key)[i % headSize]! += gains[interleavedRow(i, headSize)]!;
    }
    result.set(`${prefix}self_attn.q_norm.weight`, query).set(`${prefix}self_attn.k_norm.weight`, key);
  }
  return result;
}
