import type { CanaryFigures } from './canaries.ts';
import type { StepSample } from './step-sample.ts';

type Metrics = Readonly<Record<string, number>>;

/**
 * What a person wants to know of a batch, whatever was trained on it. docs/learning.md says what each figure
 * means.
 *
 * @param startLogProbs log-probs of each sample before it was first trained on, [T]
 * @param parent the version whose parameters those are (with one minibatch)
 */
export function batchMetrics(
  samples: readonly StepSample[],
  startLogProbs: ReadonlyMap<StepSample, ArrayLike<number>>,
  parent: number,
): Metrics {
  const verdicts = samples.map(({ verdict }) => verdict);
  const tokens = samples.map(({ sequence }) => sequence.responseIds.length);
  const logProbs = samples.flatMap((sample) => Array.from(startLogProbs.get(sample) ?? []));
  // The same policy in serving and in training: what is left between them is the difference of their
  // arithmetic.
  const drifts = samples
    .filter(({ version }) => version === parent)
    .flatMap((sample) =>
      Array.from(startLogProbs.get(sample) ?? [], (logProb, t) => Math.abs(logProb - sample.behavior[t]!)),
    );
  return {
    samples: samples.length,
    tokens: total(tokens) + total(samples.map(({ sequence }) => sequence.promptIds.length)),
    responseTokens: total(tokens),
    responseLength: mean(tokens),
    verdict: mean(verdicts),
    advantage: mean(samples.map(({ advantage }) => advantage)),
    softSamples: samples.filter(({ soft }) => soft).length,
    greedySamples: samples.filter(({ greedy }) => greedy).length,
    staleSamples: samples.filter(({ version }) => version !== parent).length,
    negativeLogProb: -mean(logProbs),
    ...(drifts.length === 0
      ? {}
      : { logProbDriftMean: mean(drifts), logProbDriftMax: drifts.reduce((a, b) => Math.max(a, b)) }),
  };
}

/** What the candidate's answers to the canaries are like. */
export const canaryMetrics = (figures: CanaryFigures | undefined): Metrics =>
  Object.fromEntries(
    Object.entries(figures ?? {}).map(([name, value]) => [
      `canary${name[0]!.toUpperCase()}${name.slice(1)}`,
      value,
    ]),
  );

/** Without figures that JSON cannot hold; a ratio may overflow where its loss is clipped. */
export const finiteOnly = (metrics: Metrics): Metrics =>
  Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));

/** The mean of each figure over the minibatches. */
export const meanOf = (rows: readonly Metrics[]): Metrics =>
  Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, mean(rows.map((row) => row[name]!))]));

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
const mean = (values: readonly number[]): number => total(values) / values.length;
