import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';

/** A sample as a step sees it. */
export type StepSample = {
  readonly sampleId: string;
  readonly version: number;
  readonly verdict: number;
  readonly advantage: number;
  readonly greedy: boolean;
  readonly soft: boolean;
  readonly sequence: PolicySequence;
  /** recorded when it was sampled, [T] */
  readonly behavior: ArrayLike<number>;
};

/**
 * Every token of the answer was sampled, so none is masked; all forwards use the temperature of the record.
 */
export const stepSample = (
  { sampleId, version, verdict, soft, tokens }: SampleReady['data'],
  advantage: number,
): StepSample => ({
  sampleId,
  version,
  verdict,
  advantage,
  greedy: tokens.greedy,
  soft,
  sequence: {
    promptIds: tokens.promptIds,
    responseIds: tokens.responseIds,
    temperature: tokens.effectiveTemperature,
  },
  behavior: tokens.logProbs,
});
