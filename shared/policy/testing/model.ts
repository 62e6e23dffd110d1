import type { ModelConfig } from '../model/model-config.ts';

/** A model of two layers with every part that a family may have but biases: small enough for finite differences. */
export const smallConfig: ModelConfig = {
  family: 'qwen3',
  vocabularySize: 61,
  hiddenSize: 24,
  layers: 2,
  heads: 4,
  keyValueHeads: 2,
  headSize: 6,
  intermediateSize: 40,
  maxPositions: 4096,
  ropeTheta: 10_000,
  ropeScaling: undefined,
  normEpsilon: 1e-6,
  tiedHead: true,
  attentionBias: false,
  queryKeyNorm: true,
};
