import { compiled } from '../executors/compiled.ts';
import type { Executor } from '../executors/executor.ts';
import { layerBackward, layerForward } from '../model/layer.ts';
import {
  type BackwardInput,
  backwardBottom,
  backwardTop,
  causalRows,
  layerOf,
  type ModelGradients,
  type Network,
  type PackedBatch,
} from '../model/model.ts';
import type { ModelConfig } from '../model/model-config.ts';
import type { LayerGradients } from '../model/weights.ts';

/**
 * Gradient checkpointing (Chen et al. 2016): the forward pass keeps only the input of each layer, and the backward
 * pass computes each layer again before its derivative. A third more work, but only the activations of one layer
 * are in memory.
 */

/** Activations of a microbatch above this size, in bytes, are recomputed. */
const MAX_ACTIVATIONS = 2 ** 30;

/** Size of the activations of all layers, f32, in bytes. Adapters add little. */
export function activationBytes(config: ModelConfig, batch: number, positions: number): number {
  const { layers, hiddenSize, heads, keyValueHeads, headSize, intermediateSize } = config;
  const attended = (heads + 2 * keyValueHeads) * headSize;
  // inputs and outputs of norms; q, k and v before and after rotation; attention output; gate, up, their product
  const perRow = 4 * hiddenSize + 2 * attended + heads * headSize + 3 * intermediateSize;
  const probabilities = heads * positions; // of attention, per row
  return 4 * layers * batch * positions * (perRow + probabilities);
}

/**
 * Whether a microbatch of this size is trained by recomputation. Depends only on the sizes, so that a replayed step
 * does the same.
 */
export const recomputes = (config: ModelConfig, batch: number, positions: number): boolean =>
  activationBytes(config, batch, positions) > MAX_ACTIVATIONS;

/**
 * Backward pass over layers of which only the inputs were kept; otherwise like `backward` in model.ts. One
 * graph serves all layers, since they differ only in the tensors that are fed.
 */
export function backwardByRecompute(
  executor: Executor,
  network: Network,
  batch: PackedBatch,
  { saved: { inputs, ...saved }, dlogits, wanted }: BackwardInput,
): ModelGradients {
  const { config, weights } = network;
  const { context } = batch;
  const top = backwardTop(executor, network, batch, { saved, dlogits, wanted });
  executor.dispose([dlogits, saved]);
  let { dx } = top;
  const layers: LayerGradients[] = [];
  for (let index = weights.layers.length - 1; index >= 0; index--) {
    const x = inputs[index]!;
    const step = compiled(
      executor,
      { name: 'recomputed layer with its derivative', sizes: 'varying' },
      { config, layer: layerOf(network, index), x, dx, context, wanted },
      (on, input) => {
        const again = layerForward(on, input.layer, input.x, causalRows(on, input.config, input.context));
        const backwardContext = { ...input.context, wanted: input.wanted };
        return layerBackward(on, input.layer, { saved: again.saved, dy: input.dx }, backwardContext);
      },
    );
    executor.dispose([dx, x]);
    layers.unshift(step.gradients);
    dx = step.dx;
  }
  const outer = backwardBottom(executor, network, batch.ids, { dx, top, wanted });
  executor.dispose(dx);
  return { layers, outer };
}
