import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { CandidatesPerSequence } from '../../shared/policy/candidates-per-sequence.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import type { PromptWriter } from '../../shared/policy/load-prompt-writer.ts';
import type { CandidateLogProbs } from '../../shared/policy/ops/candidates.ts';
import type { DistributionRequest, TokenDistributions } from '../../shared/policy/token-distributions.ts';

import type { SampledAnswer, SampleRequest, Speech } from './speech.ts';

/** log p of each response token, nats, [N][T] */
export type LogProbs = readonly Float32Array[];

/** Log-probs of each sequence's candidates; undefined where it has none. */
export type CandidateRows = readonly (CandidateLogProbs | undefined)[];

export type LogProbGradient = {
  /** dLoss / dlogProb of each response token, [N][T] */
  readonly sampled: readonly ArrayLike<number>[];
  /** of the candidates of each position, [N][T * count]; undefined: none */
  readonly candidates?: readonly (ArrayLike<number> | undefined)[];
};

/** How an engine answers. */
export type Voice = Pick<Speech, 'read' | 'canaries' | 'rehearsed'> & {
  readonly sample: (adapter: TrainedWeights | undefined, request: SampleRequest) => readonly SampledAnswer[];
};

/**
 * What a step needs of a model: numbers in, numbers out, no state between calls. An undefined adapter is the
 * base model.
 */
export type LearningEngine = {
  /** Prompts as serving writes them. Throws when the template refuses the messages. */
  readonly writePrompt: PromptWriter;
  /** tokens that prompt and answer may have together */
  readonly contextTokens: number;
  /**
   * Loads a teacher of its own, where the settings name one, unless it is loaded; gives its digest.
   * @throws TOP_K_VOCABULARY, TEACHER_VOCABULARY; UnknownModel
   */
  readonly prepare: (
    settings: Pick<TrainingSettings, 'method' | 'teacher' | 'distillation' | 'topK'>,
  ) => Promise<{ readonly teacherDigest: string | undefined }>;
  /** As `score`, by a teacher that is loaded. @throws Error for another one */
  readonly scoreByTeacher: (teacher: string, sequences: readonly PolicySequence[]) => LogProbs;
  /** As `distributions`, by a teacher that is loaded. @throws Error for another one */
  readonly distributionsByTeacher: (
    teacher: string,
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => readonly TokenDistributions[];
  /** A fresh adapter, or a copy of all weights: it changes nothing yet. The same seed gives the same one. */
  readonly createAdapter: (
    settings: Pick<TrainingSettings, 'training' | 'rank' | 'alpha'> & { readonly seed: number },
  ) => TrainedWeights;
  /**
   * Indices of the sequences that go through the model together; a fixed function of the sequences and of how
   * many tokens a part may have.
   */
  readonly parts: (sequences: readonly PolicySequence[], tokens?: number) => readonly (readonly number[])[];
  readonly score: (adapter: TrainedWeights | undefined, sequences: readonly PolicySequence[]) => LogProbs;
  /** The likeliest tokens at each position of the responses. */
  readonly distributions: (
    adapter: TrainedWeights | undefined,
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => readonly TokenDistributions[];
  /**
   * Fresh gradients by what is trained, under their names, given those by the log-probs, among them those of
   * candidates where there are some: then all sequences must be of one part.
   */
  readonly gradients: (
    adapter: TrainedWeights,
    sequences: readonly PolicySequence[],
    byLogProbs: (logProbs: LogProbs, candidates: CandidateRows) => LogProbGradient,
    candidates?: CandidatesPerSequence,
  ) => ReadonlyMap<string, Float32Array>;
  /** Undefined: the engine answers nobody, and a gate has no answers to look at. */
  readonly speech?: Voice | undefined;
  /** Mean over response positions of KL(candidate || parent) over the vocabulary, nats. */
  readonly meanKl: (
    candidate: TrainedWeights,
    parent: TrainedWeights | undefined,
    sequences: readonly PolicySequence[],
  ) => number;
};
