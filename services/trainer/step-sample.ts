import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';

/** A sample as a step sees it. */
export type StepSample = {
  readonly sampleId: string;
  readonly version: number;
  readonly verdict: number;
  /** of its verdict; 0 where that does not train */
  readonly advantage: number;
  readonly trainsByVerdict: boolean;
  /** of its advantage in the loss */
  readonly verdictWeight: number;
  /** of the whole sample, against the others of its batch */
  readonly weight: number;
  readonly greedy: boolean;
  readonly soft: boolean;
  readonly sequence: PolicySequence;
  /** recorded when it was sampled, [T] */
  readonly behavior: ArrayLike<number>;
};

export type SampleWeights = Pick<StepSample, 'verdictWeight' | 'weight'> & {
  /** undefined where the verdict does not train */
  readonly advantage: number | undefined;
};

/**
 * Every token of the answer was sampled, so none
 * is masked; all forwards use the temperature of the record.
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
  },
  behavior: tokens.logProbs,
});
