import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { CandidateLogProbs } from '../../shared/policy/ops/candidates.ts';
import type { PromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import type { CandidatesPerSequence } from '../../shared/policy/train/candidates-per-sequence.ts';
import type {
  DistributionRequest,
  TokenDistributions,
} from '../../shared/policy/train/token-distributions.ts';

import type { SampledAnswer, SampleRequest, Speech } from './speech.ts';

/** log p of each response token, nats, [N][T] */
export type LogProbs = readonly Float32Array[];

/** Log-probs of each sequence's candidates; undefined if it has none. */
export type CandidateRows = readonly (CandidateLogProbs | undefined)[];

export type LogProbGradient = {
  /** dLoss / dlogProb of each response token, [N][T] */
  readonly sampled: readonly ArrayLike<number>[];
  /** the same for the candidates of each position, [N][T * count]; undefined: none */
  readonly candidates?: readonly (ArrayLike<number> | undefined)[];
};

/** How an engine answers requests. */
export type Voice = Pick<Speech, 'read' | 'gateRequests' | 'wideRequests' | 'rehearsed'> & {
  readonly sample: (adapter: TrainedWeights | undefined, request: SampleRequest) => readonly SampledAnswer[];
  /** Rules before the fourth: the answers to the trainer's own requests may begin with reasoning, which is read as text. */
  readonly reasons?: boolean;
};

/** What a step needs from a model. Calls keep no state. An undefined adapter is the base model. */
export type LearningEngine = {
  /** Renders prompts like serving. Throws if the template rejects the messages. */
  readonly writePrompt: PromptWriter;
  /** most tokens of prompt and answer together */
  readonly contextTokens: number;
  /**
   * Loads the separate teacher that the settings name, if any, and returns its digest.
   * @throws TOP_K_VOCABULARY, TEACHER_VOCABULARY; UnknownModel
   */
  readonly prepare: (
    settings: Pick<TrainingSettings, 'method' | 'teacher' | 'distillation' | 'topK'>,
  ) => Promise<{ readonly teacherDigest: string | undefined }>;
  /** Like `score`, by the loaded teacher. @throws Error for another teacher */
  readonly scoreByTeacher: (teacher: string, sequences: readonly PolicySequence[]) => LogProbs;
  /** Like `distributions`, by the loaded teacher. @throws Error for another teacher */
  readonly distributionsByTeacher: (
    teacher: string,
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => readonly TokenDistributions[];
  /**
   * Creates an adapter, or a copy of all weights, that has no effect yet. The same seed gives the same result.
   */
  readonly createAdapter: (
    settings: Pick<TrainingSettings, 'training' | 'rank' | 'alpha'> & { readonly seed: number },
  ) => TrainedWeights;
  /**
   * Indices of the sequences that are processed together; a fixed function of the sequences and the token
   * limit.
   */
  readonly parts: (sequences: readonly PolicySequence[], tokens?: number) => readonly (readonly number[])[];
  readonly score: (adapter: TrainedWeights | undefined, sequences: readonly PolicySequence[]) => LogProbs;
  /** The most likely tokens at each position of the responses. */
  readonly distributions: (
    adapter: TrainedWeights | undefined,
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => readonly TokenDistributions[];
  /**
   * New gradients of the trained weights, by name, given the gradient by the log-probs. With candidates, all
   * sequences must belong to one part.
   */
  readonly gradients: (
    adapter: TrainedWeights,
    sequences: readonly PolicySequence[],
    byLogProbs: (logProbs: LogProbs, candidates: CandidateRows) => LogProbGradient,
    candidates?: CandidatesPerSequence,
  ) => ReadonlyMap<string, Float32Array>;
  /** Undefined: the engine cannot answer, so the gate does not check answers. */
  readonly speech?: Voice | undefined;
  /** Mean over response positions of KL(candidate || parent) over the vocabulary, nats. */
  readonly meanKl: (
    candidate: TrainedWeights,
    parent: TrainedWeights | undefined,
    sequences: readonly PolicySequence[],
  ) => number;
};
