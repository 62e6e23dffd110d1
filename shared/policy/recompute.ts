import { compiled } from './executors/compiled.ts';
import type { Executor, Tensor } from './executors/executor.ts';
import { layerBackward, layerForward } from './layer.ts';
import type { LoraLayer } from './lora.ts';
import {
  backwardBottom,
  backwardTop,
  type ForwardSaved,
  type ModelGradients,
  type Network,
  type SequenceContext,
} from './model.ts';
import type { ModelConfig } from './model-config.ts';
import { attention } from './ops/attention.ts';
import type { LayerGradients } from './weights.ts';

/**
 * Gradient checkpointing (Chen et al. 2016): the forward pass keeps the input of each layer alone, and the
 * backward pass computes a layer again before its derivative. A third more work, for memory that holds one
 * layer's activations instead of all.
 */

/** Activations of a part may take so much before layers are computed again, bytes. */
const MAX_ACTIVATIONS = 2 ** 30;

/** f32 that the derivative of all layers needs, bytes. Adapters add little. */
export function activationBytes(config: ModelConfig, batch: number, positions: number): number {
  const { layers, hiddenSize, heads, keyValueHeads, headSize, intermediateSize } = config;
  const attended = (heads + 2 * keyValueHeads) * headSize;
  // Inputs and outputs of norms, q, k and v before and after rotation, what was attended, gate, up and their
  // product.
  const perRow = 4 * hiddenSize + 2 * attended + heads * headSize + 3 * intermediateSize;
  const probabilities = heads * positions; // of attention, per row
  return 4 * layers * batch * positions * (perRow + probabilities);
}

/**
 * Whether a part of that size is trained by recomputation. It follows from the sizes alone, so that a step
 * that is replayed takes the same way.
 */
export const recomputes = (config: ModelConfig, batch: number, positions: number): boolean =>
  activationBytes(config, batch, positions) > MAX_ACTIVATIONS;

/**
 * Backward pass over layers of which only the inputs were kept: model.ts's `backward` otherwise. One graph
 * serves all layers, since they differ in what is fed alone.
 */
export function backwardByRecompute(
  executor: Executor,
  { config, weights }: Network,
  lora: readonly LoraLayer[] | undefined,
  { ids, rows }: { readonly ids: Int32Array; readonly rows: Int32Array },
  context: SequenceContext,
  { inputs, ...saved }: ForwardSaved,
  dlogits: Tensor,
  wanted: { readonly weights: boolean },
): ModelGradients {
  const network = { config, weights };
  const top = backwardTop(executor, network, rows, context, saved, dlogits, wanted);
  executor.dispose([dlogits, saved]);
  let { dx } = top;
  const layers: LayerGradients[] = [];
  for (let layer = weights.layers.length - 1; layer >= 0; layer--) {
    const x = inputs[layer]!;
    const step = compiled(
      executor,
      { name: 'one layer again, and its derivative', sizes: 'varying' },
      { config, weights: weights.layers[layer]!, lora: lora?.[layer], x, dx, context, wanted },
      (on, input) => {
        const { shape, rotations, blocks } = input.context;
        const again = layerForward(
          on,
          input.config,
          input.weights,
          input.lora,
          input.x,
          rotations.forward,
          (queryKey, value) => attention(on, queryKey, value, shape, blocks),
        );
        return layerBackward(
          on,
          input.weights,
          input.lora,
          again.saved,
          input.dx,
          input.context,
          input.wanted,
        );
      },
    );
    executor.dispose([dx, x]);
    layers.unshift(step.gradients);
    dx = step.dx;
  }
  const outer = backwardBottom(executor, network, ids, dx, top, wanted);
  executor.dispose(dx);
  return { layers, outer };
}
