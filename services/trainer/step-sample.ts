import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';

/** A sample in the form that a step uses. */
export type StepSample = {
  readonly sampleId: string;
  readonly version: number;
  readonly verdict: number;
  /** of its verdict; 0 if that does not train */
  readonly advantage: number;
  readonly trainsByVerdict: boolean;
  /** weight of its advantage in the loss */
  readonly verdictWeight: number;
  /** weight of the whole sample relative to the others of its batch */
  readonly weight: number;
  readonly greedy: boolean;
  readonly soft: boolean;
  readonly sequence: PolicySequence;
  /** recorded when it was sampled, [T] */
  readonly behavior: ArrayLike<number>;
};

type SampleWeights = Pick<StepSample, 'verdictWeight' | 'weight'> & {
  /** undefined if the verdict does not train */
  readonly advantage: number | undefined;
};

/**
 * Every token of the answer was sampled, so none is masked. All forward passes use the recorded temperature.
 */
export const stepSample = (
  { sampleId, version, verdict, soft, tokens }: SampleReady['data'],
  { advantage, verdictWeight, weight }: SampleWeights,
): StepSample => ({
  sampleId,
  version,
  verdict,
  advantage: advantage ?? 0,
  trainsByVerdict: advantage !== undefined,
  verdictWeight,
  weight,
  greedy: tokens.greedy,
  soft,
  sequence: {
    promptIds: tokens.promptIds,
    responseIds: tokens.responseIds,
    temperature: tokens.effectiveTemperature,
    ...defined({ allowed: tokens.allowed }),
  },
  behavior: tokens.logProbs,
});
