import type { LearningEngine, LogProbGradient } from '../learning-engine.ts';
import { toyEngine } from './toy-engine.ts';

/** The toy engine, recording the gradient by log-probs of each loss, one entry per sequence. */
export function watchSlopes(): {
  readonly engine: LearningEngine;
  readonly seen: readonly LogProbGradient[];
} {
  const seen: LogProbGradient[] = [];
  const engine: LearningEngine = {
    ...toyEngine,
    gradients: (file, sequences, byLogProbs, candidates) =>
      toyEngine.gradients(
        file,
        sequences,
        (...made) => {
          const slopes = byLogProbs(...made);
          seen.push(slopes);
          return slopes;
        },
        candidates,
      ),
  };
  return { engine, seen };
}
