import type { Executor, Tensor } from './executors/executor.ts';
import { type LayerSaved, layerBackward, layerForward } from './layer.ts';
import { embeddingName, finalNormName, headName } from './layout.ts';
import type { LoraLayer } from './lora.ts';
import type { ModelConfig } from './model-config.ts';
import { add } from './ops/arithmetic.ts';
import {
  type AttentionSaved,
  type AttentionShape,
  attention,
  type CausalBlocks,
  causalBlocks,
} from './ops/attention.ts';
import { gatherRows, gatherRowsVjp, type Indices } from './ops/embedding.ts';
import { type LinearSaved, linear, linearVjp } from './ops/linear.ts';
import { type RmsNormSaved, rmsNorm, rmsNormVjp } from './ops/rms-norm.ts';
import type { RopeTable, Rotations } from './ops/rope.ts';
import { embed, type LayerGradients, type Weights } from './weights.ts';

/**
 * Decoder-only transformers of the Llama, Qwen2 and Qwen3 families: RMSNorm, RoPE, grouped queries, SwiGLU.
 * Qwen2 adds biases to q, k, v; Qwen3 normalises every query and key head; layer.ts is one layer. Activations
 * are [rows, width], rows = batch * positions, and every sequence is padded at its end: no real row sees the
 * padding.
 */
export type Model = {
  readonly config: ModelConfig;
  readonly weights: Weights;
  readonly ropeTable: RopeTable;
};

/** A model without what is not numbers: all that its functions on an executor need. */
export type Network = Pick<Model, 'config' | 'weights'>;

/** Sequences of one length, and what all layers share for them. */
export type SequenceContext = {
  readonly shape: AttentionShape;
  readonly rotations: Rotations;
  readonly blocks: CausalBlocks;
};

/**
 * For `batch` sequences of `positions` tokens each. Belongs to the caller, or to the scope that it is called
 * in.
 */
export function sequenceContext(
  executor: Executor,
  { config, ropeTable }: Model,
  batch: number,
  positions: number,
  wanted: { readonly backward: boolean },
): SequenceContext {
  const { heads, keyValueHeads, headSize } = config;
  return {
    shape: { batch, positions, heads, keyValueHeads, headSize },
    rotations: ropeTable.rotations(
      executor,
      Int32Array.from({ length: positions }, (_, i) => i),
      wanted,
    ),
    blocks: causalBlocks(executor, positions, wanted),
  };
}

/**
 * The residual stream after the last layer, [rows, hidden], computed layer by layer: nothing else outlives
 * its layer.
 *
 * @param ids tokens, batch * positions
 * @param onLayer sees each layer's attention (for a cache) and output (for tests) before they are freed
 */
export function residualStream(
  executor: Executor,
  { config, weights }: Network,
  lora: readonly LoraLayer[] | undefined,
  ids: Indices,
  context: SequenceContext,
  onLayer?: (layer: number, saved: AttentionSaved, output: Tensor) => void,
): Tensor {
  const { shape, rotations, blocks } = context;
  let x = embed(executor, weights, ids); // [rows, hidden]
  weights.layers.forEach((layer, index) => {
    const next = executor.scope(() => {
      const { output, saved } = layerForward(
        executor,
        config,
        layer,
        lora?.[index],
        x,
        rotations.forward,
        (queryKey, value) => attention(executor, queryKey, value, shape, blocks),
      );
      onLayer?.(index, saved.attention!, output);
      return output;
    });
    executor.dispose(x);
    x = next;
  });
  return x;
}

/** Final norm and head: logits [rows, vocabulary] of rows of the residual stream. */
export function logitsOf(executor: Executor, { config, weights }: Network, x: Tensor): Tensor {
  return executor.scope(() => {
    const { output } = rmsNorm(executor, x, weights.finalNorm, config.normEpsilon); // [rows, hidden]
    return linear(executor, output, weights.head).output;
  });
}

/** What the backward pass needs of a forward pass. */
export type ForwardSaved = {
  /** Of each layer, or none when only their inputs are kept. */
  readonly layers: readonly LayerSaved[];
  /** Each layer's, [batch * positions, hidden], for one that is computed again; else none. */
  readonly inputs: readonly Tensor[];
  readonly finalNorm: RmsNormSaved;
  readonly head: LinearSaved;
};

/**
 * Forward pass that keeps what backward needs.
 *
 * @param rows which of the batch * positions rows get logits
 * @param kept of each layer: all that its derivative needs, or its input alone, out of which recompute.ts
 *   makes that again
 * @returns logits [rows.length, vocabulary]
 */
export function forward(
  executor: Executor,
  { config, weights }: Network,
  lora: readonly LoraLayer[] | undefined,
  ids: Indices,
  rows: Indices,
  context: SequenceContext,
  kept: 'activations' | 'inputs' = 'activations',
): { readonly logits: Tensor; readonly saved: ForwardSaved } {
  const { shape, rotations, blocks } = context;
  let x = embed(executor, weights, ids); // [batch * positions, hidden]
  const inputs: Tensor[] = [];
  const layers = weights.layers.flatMap((layer, index) => {
    if (kept === 'inputs') inputs.push(x);
    const made = executor.scope(() => {
      const { output, saved } = layerForward(
        executor,
        config,
        layer,
        lora?.[index],
        x,
        rotations.forward,
        (queryKey, value) => attention(executor, queryKey, value, shape, blocks),
      );
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
  /** Undefined where only an adapter trains, and those of a tied head, which are the embedding's. */
  readonly outer: Readonly<Record<'embedding' | 'head' | 'finalNorm', Tensor | undefined>>;
};

/**
 * Derivative of head and final norm.
 *
 * @param dlogits [rows.length, vocabulary]
 * @returns dx: of the residual stream after the last layer, [batch * positions, hidden]
 */
export function backwardTop(
  executor: Executor,
  { weights }: Network,
  rows: Indices,
  { shape: { batch, positions } }: SequenceContext,
  saved: Pick<ForwardSaved, 'head' | 'finalNorm'>,
  dlogits: Tensor,
  wanted: { readonly weights: boolean },
): { readonly dx: Tensor; readonly head: Tensor | undefined; readonly finalNorm: Tensor | undefined } {
  return executor.scope(() => {
    const head = linearVjp(executor, saved.head, weights.head, undefined, dlogits, wanted);
    const norm = rmsNormVjp(executor, saved.finalNorm, weights.finalNorm, head.dx, { gain: wanted.weights });
    const dx = gatherRowsVjp(executor, rows, batch * positions, norm.dx);
    return { dx, head: head.gradients.weight, finalNorm: norm.dgain };
  });
}

/**
 * Derivative of the embedding, to which a tied head's is added.
 *
 * @param dx of the residual stream before the first layer, [batch * positions, hidden]
 */
export function backwardBottom(
  executor: Executor,
  { config }: Network,
  ids: Indices,
  dx: Tensor,
  top: { readonly head: Tensor | undefined; readonly finalNorm: Tensor | undefined },
  wanted: { readonly weights: boolean },
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

/**
 * Backward pass. Each layer's saved activations are freed after their use.
 *
 * @param dlogits [rows.length, vocabulary]
 * @param wanted weights: false when only an adapter trains
 */
export function backward(
  executor: Executor,
  network: Network,
  lora: readonly LoraLayer[] | undefined,
  ids: Indices,
  rows: Indices,
  context: SequenceContext,
  saved: ForwardSaved,
  dlogits: Tensor,
  wanted: { readonly weights: boolean },
): ModelGradients {
  const top = backwardTop(executor, network, rows, context, saved, dlogits, wanted);
  let { dx } = top;
  const layers: LayerGradients[] = [];
  for (let layer = network.weights.layers.length - 1; layer >= 0; layer--) {
    const step = executor.scope(() =>
      layerBackward(
        executor,
        network.weights.layers[layer]!,
        lora?.[layer],
        saved.layers[layer]!,
        dx,
        context,
        wanted,
      ),
    );
    executor.dispose([dx, saved.layers[layer]]);
    layers.unshift(step.gradients);
    dx = step.dx;
  }
  const outer = backwardBottom(executor, network, ids, dx, top, wanted);
  executor.dispose(dx);
  return { layers, outer };
}

/** Reads gradients outside of the layers, by published name. */
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
