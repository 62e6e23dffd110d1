import type { TrainingKind } from '../../events/training-settings.ts';
import { activationBytes, recomputes } from '../train/recompute.ts';
import { linearLayouts, weightShapes } from './layout.ts';
import type { ModelConfig } from './model-config.ts';

/** Bytes that serving and training need beyond an idle process; all numbers are f32. */
export type MemoryEstimate = {
  /** Of the weights, in each process that computes. */
  readonly weights: number;
  /** Of one version: its adapter, or all its weights, in addition to the base's. */
  readonly version: number;
  /** Keys and values of 1000 tokens of one answer, including its prompt. */
  readonly cachePerThousand: number;
  /** One training step, on one part (microbatch) of its samples. */
  readonly step: {
    /** Activations of all layers; with `recomputed`, the inputs of all layers and the activations of one. */
    readonly activations: number;
    readonly recomputed: boolean;
    /** Logits of the answer's tokens and tensors computed from them. */
    readonly logits: number;
    /** Gradients and both moments of AdamW. */
    readonly optimizer: number;
    /** Full weights: the parent's, the trained ones, and gradients read from the backend. */
    readonly copies: number;
  };
};

/** Peak memory of a process, as a multiple of the tensors that it computes with; measured 1.15 to 1.4. */
const overhead = 1.25;

/**
 * Peak of a process that serves one answer of 1000 tokens, beyond an idle process. While one version replaces
 * another, both are loaded.
 */
export const servingPeak = ({ weights, version, cachePerThousand }: MemoryEstimate): number =>
  overhead * (weights + cachePerThousand) + 2 * version;

/** Peak of a process that trains, beyond an idle process. */
export const trainingPeak = ({ weights, version, step }: MemoryEstimate): number =>
  overhead * (weights + version + step.activations + step.logits + step.optimizer) + step.copies;

export type StepSize = {
  readonly rank: number;
  /** Tokens of one sample, prompt and answer. */
  readonly tokens: number;
  /** Tokens of the answer. */
  readonly responseTokens: number;
};

/** Logits, their gradient, and one temporary tensor of that size. */
const logitCopies = 3;

/**
 * The memory that a model needs on an executor, for steps whose samples pass one by one. For full weights the
 * rank has no meaning.
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
