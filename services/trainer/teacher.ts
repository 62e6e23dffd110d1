import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import type {
  DistributionRequest,
  TokenDistributions,
} from '../../shared/policy/train/token-distributions.ts';
import type { LearningEngine, LogProbs } from './learning-engine.ts';

/** The model that reads the hints. */
export type Teacher = {
  /** log p of each response token */
  readonly score: (sequences: readonly PolicySequence[]) => LogProbs;
  readonly distributions: (
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => readonly TokenDistributions[];
};

/**
 * @param name current, base, or a loaded model (LearningEngine.prepare)
 * @param anchor share of the base's log-probs in those of `current`. A policy that learns only from itself with
 *   a hint never converges, because the hint shifts every distribution. Anchored to the base, it converges to
 *   the base's logits plus 1 / anchor times what the hint adds.
 * @param parent weights of the parent version; undefined: it is the base
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

type TeacherSettings = Pick<TrainingSettings, 'method' | 'teacher'>;

/** The teacher, if it is neither a version of the policy nor its base, and the method uses one. */
export const separateTeacher = ({ method, teacher }: TeacherSettings): string | undefined =>
  method === 'binary' || teacher === 'current' || teacher === 'base' ? undefined : teacher;
