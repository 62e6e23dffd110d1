import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import type { DistributionRequest, TokenDistributions } from '../../shared/policy/token-distributions.ts';
import type { LearningEngine, LogProbs } from './learning-engine.ts';

/** Who reads the hints. */
export type Teacher = {
  /** log p of each response token */
  readonly score: (sequences: readonly PolicySequence[]) => LogProbs;
  readonly distributions: (
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => readonly TokenDistributions[];
};

/**
 * @param name current, base, or a model that is loaded (LearningEngine.prepare)
 * @param anchor share of the base's log-probs in those of `current`. A policy that learns from itself with a
 *   hint, and nothing else, has no distribution at which it stops: the hint changes that one too. With the
 *   base at its side it has one, where the logits are the base's plus 1 / anchor times what the hint adds.
 * @param parent what the parent version has learned; undefined: it is the base
 */
export function teacherOf(
  engine: LearningEngine,
  name: string,
  anchor: number,
  parent: TrainedWeights | undefined,
): Teacher {
  if (name === 'current' || name === 'base') {
    const adapter = name === 'current' ? parent : undefined;
    const anchored = adapter !== undefined && anchor > 0;
    return {
      score: (sequences) =>
        anchored
          ? engine.distributions(adapter, sequences, { count: 1, anchor }).map(({ sampled }) => sampled)
          : engine.score(adapter, sequences),
      distributions: (sequences, request) =>
        engine.distributions(adapter, sequences, anchored ? { ...request, anchor } : request),
    };
  }
  return {
    score: (sequences) => engine.scoreByTeacher(name, sequences),
    distributions: (sequences, request) => engine.distributionsByTeacher(name, sequences, request),
  };
}
