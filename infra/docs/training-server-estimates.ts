import { linearLayouts, weightShapes } from '../../shared/policy/model/layout.ts';
import type { ModelConfig } from '../../shared/policy/model/model-config.ts';

/** Bytes of a value in bf16, the type in which models and adapters are held. */
const BF16 = 2;
/** Of all weights of a model. */
export const weightCount = (config: ModelConfig): number =>
  [...weightShapes(config).values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);

/** Of an adapter of all seven projections: rank x (inputs + outputs) each. */
export function adapterCount(config: ModelConfig, rank: number): number {
  const perLayer = Object.values(linearLayouts(config)).flatMap(({ inputs, parts }) =>
    parts.map(({ rows }) => inputs + rows),
  );
  return rank * config.layers * perLayer.reduce((sum, size) => sum + size, 0);
}

/** SkyRL's JAX back end as it is started. */
export type ServerShape = {
  /** models that may be loaded at once, plus one for the base model */
  readonly slots: number;
  /** models that are loaded */
  readonly loaded: number;
  readonly rank: number;
  /** tokens of one micro-batch */
  readonly tokens: number;
};

/**
 * Bytes on all GPUs together. SkyRL holds weights and accumulated gradients of all slots in one tensor, and gives each
 * loaded model an optimizer with two moments over that whole tensor: loaded x 2 x slots x adapter. Activations
 * with gradient checkpointing: the input of each layer, one layer's own, and the logits of 1024 tokens in f32 with
 * their gradient.
 */
export function serverMemory(config: ModelConfig, { slots, loaded, rank, tokens }: ServerShape) {
  const adapter = BF16 * adapterCount(config, rank);
  const { hiddenSize, intermediateSize, heads, keyValueHeads, headSize, layers, vocabularySize } = config;
  const withinLayer = 6 * hiddenSize + 3 * intermediateSize + 3 * (heads + 2 * keyValueHeads) * headSize;
  return {
    weights: BF16 * weightCount(config),
    adapters: 2 * slots * adapter,
    optimizers: 2 * loaded * slots * adapter,
    activations: BF16 * tokens * (layers * hiddenSize + 2 * withinLayer) + 2 * 4 * 1024 * vocabularySize,
  };
}

/**
 * Floating-point operations per token of a step with one minibatch and one epoch: 2 per weight and forward pass
 * (forward, forward of the backward call, its recomputation, the gate's score), and 2 per weight for the gradient by
 * the activations. The gradient by the adapter itself is below 2 %.
 */
export const flopsPerToken = (config: ModelConfig): number => 5 * 2 * weightCount(config);

/** Of one adapter with both moments in bf16, bytes: what a swap reads and writes. */
export const stateBytes = (config: ModelConfig, rank: number): number => 3 * BF16 * adapterCount(config, rank);

/** Mean wait for one server of fixed service time (M/D/1, Pollaczek-Khinchine), in the unit of `service`. */
export function meanWait(arrivals: number, service: number): number {
  const load = arrivals * service;
  return load >= 1 ? Number.POSITIVE_INFINITY : (load * service) / (2 * (1 - load));
}
