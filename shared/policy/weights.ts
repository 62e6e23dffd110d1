import type { Executor, Tensor } from './executors/executor.ts';
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
import { gatherColumns, gatherRows, type Indices } from './ops/embedding.ts';
import { type Linear, type LinearGradients, uploadMatrix } from './ops/linear.ts';
import { createScratch, type Scratch } from './scratch.ts';

export type LayerWeights = Readonly<Record<LinearName, Linear>> & {
  /** [hiddenSize] */
  readonly attentionNorm: Tensor;
  /** Qwen3: gains of every query and key head, [heads + keyValueHeads, headSize]. */
  readonly queryKeyNorm: Tensor | undefined;
  readonly mlpNorm: Tensor;
};

/** A model's weights on an executor. */
export type Weights = {
  /** [vocabularySize, hiddenSize]; undefined where the head's columns are it. */
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

/** What it gives may stand where the next one will stand: it is used up before the next call. */
type ReadWeight = (name: string) => Float32Array;

function stack(
  config: ModelConfig,
  read: ReadWeight,
  scratch: Scratch,
  prefix: string,
  layout: LinearLayout,
  kind: 'weight' | 'bias',
) {
  const width = kind === 'weight' ? layout.inputs : 1;
  const stacked = scratch.take(layout.outputs * width);
  let row = 0;
  for (const part of layout.parts) {
    copyRows(read(`${prefix}${part.path}.${kind}`), 0, stacked, row, {
      ...part,
      width,
      headSize: config.headSize,
    });
    row += part.rows;
  }
  return stacked;
}

/**
 * Uploads a model's weights, given by their published names, and pauses after every layer, so that a thread
 * that has other work may do some of it. The tensors are the caller's, once all are there.
 */
export function* uploadWeights(
  executor: Executor,
  config: ModelConfig,
  read: ReadWeight,
): Generator<undefined, Weights> {
  const { hiddenSize, vocabularySize, heads, keyValueHeads, headSize } = config;
  const layouts = linearLayouts(config);
  const stacking = createScratch();
  const vector = (name: string): Tensor => executor.upload(read(name), [hiddenSize]);
  const linear = (prefix: string, name: LinearName): Linear => {
    const layout = layouts[name];
    const biased = config.attentionBias && (name === 'queryKey' || name === 'value');
    return {
      matrix: uploadMatrix(
        executor,
        stack(config, read, stacking, prefix, layout, 'weight'),
        layout.outputs,
        layout.inputs,
      ),
      bias: biased
        ? executor.upload(stack(config, read, stacking, prefix, layout, 'bias'), [layout.outputs])
        : undefined,
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
  const made: unknown[] = [];
  const keep = <Tree>(make: () => Tree): Tree => {
    const tree = executor.scope(make);
    made.push(tree);
    return tree;
  };
  try {
    const rest = keep(outer);
    const layers: LayerWeights[] = [];
    for (let layer = 0; layer < config.layers; layer++) {
      yield;
      layers.push(keep(() => layerOf(layerPrefix(layer))));
    }
    return { ...rest, layers };
  } catch (error) {
    executor.dispose(made);
    throw error;
  }
}

/** Reads one layer's gradients back under the published names. */
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
        copyRows(stacked, row, values, 0, { ...part, width, headSize, back: true });
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
