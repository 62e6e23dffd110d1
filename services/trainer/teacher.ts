import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import type { DistributionRequest, TokenDistributions } from '../../shared/policy/token-distributions.ts';
import type { LearningEngine, LogProbs } from './learning-engine.ts';

/** Who reads the hints. */
export type Teacher = {
  readonly score: (sequences: readonly PolicySequence[]) => LogProbs;
  readonly distributions: (
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => readonly TokenDistributions[];
};

/**
 * @param name current, base, or a model that is loaded (LearningEngine.prepare)
 * @param parent what the parent version has learned; undefined: it is the base
 */
export function teacherOf(engine: LearningEngine, name: string, parent: TrainedWeights | undefined): Teacher {
  if (name === 'current' || name === 'base') {
    const adapter = name === 'current' ? parent : undefined;
    return {
      score: (sequences) => engine.score(adapter, sequences),
      distributions: (sequences, request) => engine.distributions(adapter, sequences, request),
    };
  }
  return {
    score: (sequences) => engine.scoreByTeacher(name, sequences),
    distributions: (sequences, request) => engine.distributionsByTeacher(name, sequences, request),
  };
}
