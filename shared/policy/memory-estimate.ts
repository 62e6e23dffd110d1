import type { TrainingKind } from '../events/training-settings.ts';
import { linearLayouts, weightShapes } from './layout.ts';
import type { ModelConfig } from './model-config.ts';
import { activationBytes, recomputes } from './recompute.ts';

/** Bytes that serving and training take beyond an idle process, all numbers being f32. */
export type MemoryEstimate = {
  /** Of the weights, in each process that computes. */
  readonly weights: number;
  /** Of one version: its adapter, or all its weights, which stand beside the base's. */
  readonly version: number;
  /** Keys and values of 1000 tokens of one answer, its prompt included. */
  readonly cachePerThousand: number;
  /** One training step, on one part (microbatch) of its samples. */
  readonly step: {
    /** What the derivative needs of all layers; with `recomputed`, their inputs and one layer's. */
    readonly activations: number;
    readonly recomputed: boolean;
    /** Logits of the answer's tokens and what is computed from them. */
    readonly logits: number;
    /** Gradients and both moments of AdamW. */
    readonly optimizer: number;
    /** All weights: the parent's numbers, those that are trained, and gradients as they leave the backend. */
    readonly copies: number;
  };
};

/** What a process takes at its peak, as a multiple of what it computes with; measured 1.15 to 1.4. */
const overhead = 1.25;

/**
 * Peak of a process that serves one answer of 1000 tokens, beyond the idle one: while one version takes
 * another's place, both are there.
 */
export const servingPeak = ({ weights, version, cachePerThousand }: MemoryEstimate): number =>
  overhead * (weights + cachePerThousand) + 2 * version;

/** Peak of a process that trains, beyond the idle one. */
export const trainingPeak = ({ weights, version, step }: MemoryEstimate): number =>
  overhead * (weights + version + step.activations + step.logits + step.optimizer) + step.copies;

export type StepSize = {
  readonly rank: number;
  /** Tokens of one sample, prompt and answer. */
  readonly tokens: number;
  /** Those of the answer. */
  readonly responseTokens: number;
};

/** Logits, their gradient, and one more of that size while it is computed. */
const logitCopies = 3;

/**
 * What a model takes on an executor; `size`: of the step, whose samples pass one by one. Where all weights are
 * trained, the rank means nothing. Pure.
 */
export function estimateMemory(
  config: ModelConfig,
  { rank, tokens, responseTokens }: StepSize,
  training: TrainingKind = 'lora',
): MemoryEstimate {
  const shapes = weightShapes(config);
  const count = [...shapes.values()].reduce((sum, shape) => sum + product(shape), 0);
  const parts = Object.values(linearLayouts(config)).flatMap(({ inputs, parts: of }) =>
    of.map(({ rows }) => rank * (inputs + rows)),
  );
  const adapter = 4 * config.layers * parts.reduce((sum, size) => sum + size, 0);
  const all = activationBytes(config, 1, tokens);
  const recomputed = recomputes(config, 1, tokens);
  const inputs = 4 * config.layers * config.hiddenSize * tokens;
  const weights = 4 * count;
  return {
    weights,
    version: training === 'full' ? weights : adapter,
    cachePerThousand: 4 * 1000 * 2 * config.layers * config.keyValueHeads * config.headSize,
    step: {
      activations: recomputed ? inputs + all / config.layers : all,
      recomputed,
      logits: 4 * logitCopies * responseTokens * config.vocabularySize,
      optimizer: 3 * (training === 'full' ? 4 * count : adapter),
      copies: training === 'full' ? 3 * 4 * count : 0,
    },
  };
}

const product = (shape: readonly number[]): number => shape.reduce((all, size) => all * size, 1);
