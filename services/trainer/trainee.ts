import type { z } from 'zod';
import type { leftOut } from '../../shared/events/policy-trained.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { OptimizerState } from '../../shared/policy/checkpoints/state.ts';
import type { AdamWSettings } from '../../shared/policy/train/adamw.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import type { CandidatesPerSequence } from '../../shared/policy/train/candidates-per-sequence.ts';
import type {
  DistributionRequest,
  TokenDistributions,
} from '../../shared/policy/train/token-distributions.ts';
import type { GatedStep, GateSettings } from './gate.ts';
import type { CandidateRows, LearningEngine, LogProbGradient, LogProbs } from './learning-engine.ts';
import type { NoCandidate, StepParent } from './step.ts';

/** A sample of the batch that was not trained, and why. */
export type LeftOut = z.output<typeof leftOut>;

/** A value, or a promise of it. An engine on this machine answers at once, a server later. */
export type Awaitable<Value> = Value | Promise<Value>;

/** The base model, or the weights that the step starts from: the parent's, or a fresh adapter's. */
export type ReadPolicy = 'base' | 'start';

/** What a step starts from. */
export type StepStart = {
  /** undefined: version 0, the base */
  readonly parent: StepParent | undefined;
  readonly settings: TrainingSettings;
  readonly seed: number;
  /** the step may overwrite the parent's moments, because the caller no longer needs them */
  readonly ownsParent: boolean;
  /** name of the attempt, under which a server saves the result */
  readonly label: string;
};

/** Gradients by name of the trained tensor. */
export type Gradients = Map<string, Float32Array>;

/** What only a model in this process gives. */
export type ModelHere = {
  readonly engine: LearningEngine;
  /** Puts other gradients in place of those added so far, and returns the latter. */
  readonly exchangeGradients: (gradients: Gradients) => Gradients;
};

type GateInput = {
  /** the batch's answers */
  readonly sequences: readonly PolicySequence[];
  /** samples of earlier batches, whose requests are asked again */
  readonly earlier: readonly SampleReady['data'][] | undefined;
};

/** The numbers that a trained version consists of. */
export type TrainedNumbers = { readonly adapter: TrainedWeights; readonly optimizer: OptimizerState };

/**
 * A policy during one step: it has weights, gradients that add up, and an optimizer. It is in this process or on a
 * server. Log-probs are in nats.
 */
export type Trainee = Pick<LearningEngine, 'writePrompt' | 'contextTokens' | 'parts'> & {
  /**
   * log p of each response token, [N][T]. After `apply`, the start is only readable for answers that were read before.
   *
   * @param anchor share of the base in the policy; default 0
   */
  readonly score: (
    policy: ReadPolicy,
    sequences: readonly PolicySequence[],
    anchor?: number,
  ) => Awaitable<LogProbs>;
  /** The most likely tokens at each position of the responses. */
  readonly distributions: (
    policy: ReadPolicy,
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => Awaitable<readonly TokenDistributions[]>;
  /** As in LearningEngine. */
  readonly scoreByTeacher: (teacher: string, sequences: readonly PolicySequence[]) => Awaitable<LogProbs>;
  readonly distributionsByTeacher: (
    teacher: string,
    sequences: readonly PolicySequence[],
    request: DistributionRequest,
  ) => Awaitable<readonly TokenDistributions[]>;
  /**
   * Adds the gradient of a loss at the current weights, given its gradient by the log-probs. With candidates, all
   * sequences must belong to one part.
   */
  readonly backward: (
    sequences: readonly PolicySequence[],
    byLogProbs: (logProbs: LogProbs, candidates: CandidateRows) => LogProbGradient,
    candidates?: CandidatesPerSequence,
  ) => Awaitable<void>;
  /** L2 norm of the gradients added since the last `apply`; undefined: `apply` reports it. */
  readonly gradientNorm: () => number | undefined;
  /** steps of the optimizer so far, over all versions */
  readonly optimizerSteps: () => number;
  /**
   * One optimizer step. The norm is that before clipping; undefined: it is unknown. If it is not finite, the weights
   * are lost.
   */
  readonly apply: (adam: AdamWSettings) => Awaitable<{ readonly gradientNorm: number | undefined }>;
  /** Whether the trained weights may be served, see gate.ts. Call it once, after the last `apply`. */
  readonly gate: (input: GateInput, settings: GateSettings) => Awaitable<GatedStep | NoCandidate>;
  /** The candidate, after `gate`. */
  readonly finish: () => Awaitable<TrainedNumbers | NoCandidate>;
  /**
   * Back to the start, to train again with another learning rate. Undefined: the gate itself can shorten a step.
   */
  readonly restart?: () => Promise<void>;
  /** Frees what the trainee holds. Never rejects. */
  readonly close: () => Awaitable<void>;
  /** undefined: the model is on a server, so it neither samples answers nor gives its gradients away */
  readonly here?: ModelHere | undefined;
};

/** Where policies are trained. */
export type TrainingEngine = {
  readonly open: (start: StepStart) => Awaitable<Trainee>;
  /** Why a sample cannot be trained here; undefined: it can. */
  readonly refusal?: (sample: SampleReady['data']) => LeftOut['reason'] | undefined;
};
