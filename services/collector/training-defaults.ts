import type { TrainingSettings } from '../../shared/events/training-settings.ts';

/** Of a step, where nothing else is asked for. Values are those of the papers that the losses name, or say why not. */
export const trainingDefaults: TrainingSettings = {
  method: 'binary',
  learningRate: 1e-2,
  rank: 8,
  alpha: 16,
  minibatches: 1,
  clipLow: 0.2,
  clipHigh: 0.28,
  stalenessCap: 2,
  mean: 'sample',
  baseline: true,
  baselineDecay: 0.9,
  klCoefficient: 0,
  gradientClip: 1,
  weightDecay: 0,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  gateMeanKl: 0.5,
};
