import type { Gap } from './bystander.ts';
import type { Span } from './log-watch.ts';

/** Median and worst, ms. */
type Figures = {
  readonly streams: number;
  readonly firstTokenMedian: number;
  readonly firstTokenWorst: number;
  readonly gapMedian: number;
  readonly gapWorst: number;
};
export type Latency = { readonly alone: Figures; readonly duringStep: Figures; readonly aroundSwap: Figures };

/** Splits the bystander's streams by the work of the trainer at that time. */
export function latency(gaps: readonly Gap[], steps: readonly Span[], swaps: readonly number[]): Latency {
  const whole = gaps.filter(({ failed }) => !failed);
  const nearSwap = ({ from, to }: Gap) => swaps.some((swap) => swap > from && swap < to);
  const inStep = ({ from, to }: Gap) => steps.some((step) => step.from < to && step.to > from);
  return {
    aroundSwap: figures(whole.filter(nearSwap)),
    duringStep: figures(whole.filter((gap) => !nearSwap(gap) && inStep(gap))),
    alone: figures(whole.filter((gap) => !nearSwap(gap) && !inStep(gap))),
  };
}

function figures(gaps: readonly Gap[]): Figures {
  const first = gaps.map(({ firstTokenMs }) => firstTokenMs);
  const longest = gaps.map(({ longestGapMs }) => longestGapMs);
  return {
    streams: gaps.length,
    firstTokenMedian: median(first),
    firstTokenWorst: Math.max(0, ...first),
    gapMedian: median(longest),
    gapWorst: Math.max(0, ...longest),
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
