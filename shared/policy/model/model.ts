import type { Executor, Tensor } from '../executors/executor.ts';
import { add } from '../ops/arithmetic.ts';
import { type AttentionSaved, attention, causalBlocks } from '../ops/attention.ts';
import type { AttentionShape, CausalBlocks } from '../ops/attention-shape.ts';
import { gatherRows, gatherRowsVjp, type Indices } from '../ops/embedding.ts';
import { type LinearSaved, linear, linearVjp } from '../ops/linear.ts';
import { type RmsNormSaved, rmsNorm, rmsNormVjp } from '../ops/rms-norm.ts';
import type { RopeTable, Rotations } from '../ops/rope.ts';
import { type Layer, type LayerSaved, layerBackward, layerForward, type RowContext } from './layer.ts';
import { embeddingName, finalNormName, headName } from './layout.ts';
import type { LoraLayer } from './lora.ts';
import type { ModelConfig } from './model-config.ts';
import { embed, type LayerGradients, type Weights } from './weights.ts';

/**
 * Decoder-only transformers of the Llama, Qwen2 and Qwen3 families: RMSNorm, RoPE, grouped queries, SwiGLU.
 * Qwen2 adds biases to q, k, v; Qwen3 normalises every query and key head; layer.ts is one layer. Activations
 * are [rows, width], rows = batch * positions. Every sequence is padded at its end: no real row sees the
 * padding.
 */
export type Model = {
  readonly config: ModelConfig;
  readonly weights: Weights;
  readonly ropeTable: RopeTable;
};

/** The weights that compute: those of a model and, if there are any, the low-rank updates of an adapter. */
export type Network = Pick<Model, 'config' | 'weights'> & {
  readonly lora: readonly LoraLayer[] | undefined;
};

/** Sequences of one length, and the tensors that all layers share for them. */
export type SequenceContext = {
  readonly shape: AttentionShape;
  readonly rotations: Rotations;
  readonly blocks: CausalBlocks;
};

/** Sequences that go through the network together. */
export type PackedBatch = {
  /** Tokens, [batch * positions]. */
  readonly ids: Indices;
  /** Which of the batch * positions rows get logits. */
  readonly rows: Indices;
  readonly context: SequenceContext;
};

/** The caller, or the scope that it is called in, owns the tensors. */
export function sequenceContext(
  executor: Executor,
  { config, ropeTable }: Pick<Model, 'config' | 'ropeTable'>,
  { batch, positions, backward }: Readonly<{ batch: number; positions: number; backward: boolean }>,
): SequenceContext {
  const { heads, keyValueHeads, headSize } = config;
  return {
    shape: { batch, positions, heads, keyValueHeads, headSize },
    rotations: ropeTable.rotations(
      executor,
      Int32Array.from({ length: positions }, (_, i) => i),
      { backward },
    ),
    blocks: causalBlocks(executor, positions, { backward }),
  };
}

/** Layer `index` of a network. */
export const layerOf = ({ weights, lora }: Pick<Network, 'weights' | 'lora'>, index: number): Layer => ({
  weights: weights.layers[index]!,
  lora: lora?.[index],
});

/** The row context of whole sequences, which see each other through causal attention. */
export const causalRows = (
  executor: Executor,
  { normEpsilon }: Pick<ModelConfig, 'normEpsilon'>,
  { shape, rotations, blocks }: SequenceContext,
): RowContext => ({
  normEpsilon,
  rotation: rotations.forward,
  attend: (inputs) => attention(executor, inputs, shape, blocks),
});

/**
 * The residual stream after the last layer, [rows, hidden], computed layer by layer: no other tensor outlives
 * its layer.
 *
 * @param onLayer sees each layer's attention (for a cache) and output (for tests) before they are freed
 */
export function residualStream(
  executor: Executor,
  network: Network,
  { ids, context }: Pick<PackedBatch, 'ids' | 'context'>,
  onLayer?: (layer: number, saved: AttentionSaved, output: Tensor) => void,
): Tensor {
  const rowContext = causalRows(executor, network.config, context);
  let x = embed(executor, network.weights, ids); // [rows, hidden]
  for (let layer = 0; layer < network.weights.layers.length; layer++) {
    const next = executor.scope(() => {
      const { output, saved } = layerForward(executor, layerOf(network, layer), x, rowContext);
      onLayer?.(layer, saved.attention!, output);
      return output;
    });
    executor.dispose(x);
    x = next;
  }
  return x;
}

/** Final norm and head: logits [rows, vocabulary] of rows of the residual stream. */
export function logitsOf(
  executor: Executor,
  { config, weights }: Pick<Model, 'config' | 'weights'>,
  x: Tensor,
): Tensor {
  return executor.scope(() => {
    const { output } = rmsNorm(executor, x, weights.finalNorm, config.normEpsilon); // [rows, hidden]
    return linear(executor, output, weights.head).output;
  });
}

/** Activations of a forward pass that the backward pass needs. */
export type ForwardSaved = {
  /** Of each layer; empty when only the layers' inputs are kept. */
  readonly layers: readonly LayerSaved[];
  /** The input of each layer, [batch * positions, hidden], when layers are recomputed; else empty. */
  readonly inputs: readonly Tensor[];
  readonly finalNorm: RmsNormSaved;
  readonly head: LinearSaved;
};

/**
 * Forward pass that keeps the activations for backward.
 *
 * @param kept of each layer: all activations that its derivative needs, or only its input, from which
 *   recompute.ts computes them again
 * @returns logits [rows.length, vocabulary]
 */
export function forward(
  executor: Executor,
  network: Network,
  { ids, rows, context }: PackedBatch,
  kept: 'activations' | 'inputs' = 'activations',
): { readonly logits: Tensor; readonly saved: ForwardSaved } {
  const { config, weights } = network;
  const rowContext = causalRows(executor, config, context);
  let x = embed(executor, weights, ids); // [batch * positions, hidden]
  const inputs: Tensor[] = [];
  const layers = weights.layers.flatMap((_, index) => {
    if (kept === 'inputs') inputs.push(x);
    const made = executor.scope(() => {
      const { output, saved } = layerForward(executor, layerOf(network, index), x, rowContext);
      return { output, saved: kept === 'inputs' ? [] : [saved] };
    });
    x = made.output;
    return made.saved;
  });
  const scored = gatherRows(executor, x, rows); // [rows, hidden]
  const norm = rmsNorm(executor, scored, weights.finalNorm, config.normEpsilon);
  const head = linear(executor, norm.output, weights.head);
  return {
    logits: head.output,
    saved: { layers, inputs, finalNorm: norm.saved, head: head.saved },
  };
}

/** Gradients of a whole model, on the executor. */
export type ModelGradients = {
  readonly layers: readonly LayerGradients[];
  /** Undefined if only an adapter trains; the gradients of a tied head are part of the embedding's. */
  readonly outer: Readonly<Record<'embedding' | 'head' | 'finalNorm', Tensor | undefined>>;
};

/** The input of a backward pass. */
export type BackwardInput = {
  readonly saved: ForwardSaved;
  /** [rows.length, vocabulary] */
  readonly dlogits: Tensor;
  /** weights: false when only an adapter trains */
  readonly wanted: { readonly weights: boolean };
};

/** Derivatives of head and final norm. */
type TopGradients = { readonly head: Tensor | undefined; readonly finalNorm: Tensor | undefined };

/**
 * Derivative of head and final norm.
 *
 * @returns dx: of the residual stream after the last layer, [batch * positions, hidden]
 */
export function backwardTop(
  executor: Executor,
  { weights }: Pick<Network, 'weights'>,
  { rows, context }: Pick<PackedBatch, 'rows' | 'context'>,
  {
    saved,
    dlogits,
    wanted,
  }: Omit<BackwardInput, 'saved'> & {
    readonly saved: Pick<ForwardSaved, 'head' | 'finalNorm'>;
  },
): TopGradients & { readonly dx: Tensor } {
  const { batch, positions } = context.shape;
  return executor.scope(() => {
    const head = linearVjp(executor, { ...weights.head, saved: saved.head }, dlogits, wanted);
    const finalNorm = { saved: saved.finalNorm, gain: weights.finalNorm };
    const norm = rmsNormVjp(executor, finalNorm, head.dx, { gain: wanted.weights });
    const dx = gatherRowsVjp(executor, rows, batch * positions, norm.dx);
    return { dx, head: head.gradients.weight, finalNorm: norm.dgain };
  });
}

/**
 * Derivative of the embedding; the derivative of a tied head is added to it.
 *
 * @param dx of the residual stream before the first layer, [batch * positions, hidden]
 */
export function backwardBottom(
  executor: Executor,
  { config }: Pick<Network, 'config'>,
  ids: Indices,
  { dx, top, wanted }: Pick<BackwardInput, 'wanted'> & { readonly dx: Tensor; readonly top: TopGradients },
): ModelGradients['outer'] {
  return executor.scope(() => {
    if (!wanted.weights) return { embedding: undefined, head: undefined, finalNorm: undefined };
    const table = gatherRowsVjp(executor, ids, config.vocabularySize, dx);
    if (!config.tiedHead) return { embedding: table, head: top.head, finalNorm: top.finalNorm };
    const embedding = add(executor, table, top.head!);
    executor.dispose(top.head);
    return { embedding, head: undefined, finalNorm: top.finalNorm };
  });
}

/** Backward pass. Each layer's saved activations are freed after their use. */
export function backward(
  executor: Executor,
  network: Network,
  batch: PackedBatch,
  { saved, dlogits, wanted }: BackwardInput,
): ModelGradients {
  const top = backwardTop(executor, network, batch, { saved, dlogits, wanted });
  const { shape, rotations } = batch.context;
  let { dx } = top;
  const layers: LayerGradients[] = [];
  for (let index = network.weights.layers.length - 1; index >= 0; index--) {
    const layerSaved = saved.layers[index]!;
    const step = executor.scope(() =>
      layerBackward(
        executor,
        layerOf(network, index),
        { saved: layerSaved, dy: dx },
        { shape, rotations, wanted },
      ),
    );
    executor.dispose([dx, layerSaved]);
    layers.unshift(step.gradients);
    dx = step.dx;
  }
  const outer = backwardBottom(executor, network, batch.ids, { dx, top, wanted });
  executor.dispose(dx);
  return { layers, outer };
}

/** Reads the gradients of embedding, head and final norm, by published name. */
export function readOuterGradients(
  executor: Executor,
  { outer: { embedding, head, finalNorm } }: ModelGradients,
): Map<string, Float32Array> {
  const named = [
    [finalNormName, finalNorm],
    [headName, head],
    [embeddingName, embedding],
  ] as const;
  return new Map(named.flatMap(([name, tensor]) => (tensor ? [[name, executor.read(tensor)]] : [])));
}
