import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import type {
  DistributionRequest,
  TokenDistributions,
} from '../../shared/policy/train/token-distributions.ts';
import type { LogProbs } from './learning-engine.ts';
import type { Awaitable, Trainee } from './trainee.ts';

/** The model that reads the hints. */
export type Teacher = {
  /** log p of each response token */
  readonly score: (sequences: readonly PolicySequence[]) => Awaitable<LogProbs>;
  readonly distributions: (
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => Awaitable<readonly TokenDistributions[]>;
};

/**
 * @param name current, base, or a loaded model (LearningEngine.prepare)
 * @param anchor share of the base's log-probs in those of `current`. A policy that learns only from itself with
 *   a hint never converges, because the hint shifts every distribution. Anchored to the base, it converges to
 *   the base's logits plus 1 / anchor times what the hint adds.
 * @param hasParent whether there is a parent version; otherwise `current` is the base
 */
export function teacherOf(
  trainee: Pick<Trainee, 'score' | 'distributions' | 'scoreByTeacher' | 'distributionsByTeacher'>,
  name: string,
  anchor: number,
  hasParent: boolean,
): Teacher {
  if (name === 'current' || name === 'base') {
    const policy = name === 'current' && hasParent ? 'start' : 'base';
    const anchored = policy === 'start' && anchor > 0;
    return {
      score: (sequences) => trainee.score(policy, sequences, anchored ? anchor : 0),
      distributions: (sequences, request) =>
        trainee.distributions(policy, sequences, anchored ? { ...request, anchor } : request),
    };
  }
  return {
    score: (sequences) => trainee.scoreByTeacher(name, sequences),
    distributions: (sequences, request) => trainee.distributionsByTeacher(name, sequences, request),
  };
}

type TeacherSettings = Pick<TrainingSettings, 'method' | 'teacher'>;

/** The teacher, if it is neither a version of the policy nor its base, and the method uses one. */
export const separateTeacher = ({ method, teacher }: TeacherSettings): string | undefined =>
  method === 'binary' || teacher === 'current' || teacher === 'base' ? undefined : teacher;
