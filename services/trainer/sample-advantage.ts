import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { advantageOf, type Baseline, boundedAdvantage } from '../../shared/policy/losses/baseline.ts';

type Judged = Pick<SampleReady['data'], 'verdict' | 'source' | 'advantage'>;

/**
 * By how much an answer was better than expected: against other attempts at its task where that was told,
 * else against the baseline. undefined: its verdict says nothing. A vote of 0 says nothing; a reward of 0
 * does.
 */
export function sampleAdvantage(
  { verdict, source, advantage }: Judged,
  baseline: Baseline,
  { baseline: enabled }: Pick<TrainingSettings, 'baseline'>,
): number | undefined {
  if (advantage !== undefined) return boundedAdvantage(advantage);
  if (verdict === 0 && source !== 'reward') return undefined;
  return boundedAdvantage(advantageOf(verdict, baseline, enabled));
}

/**
 * The verdicts that the baseline is the mean of. A return counts as 1 at most, by size: the baseline is that of
 * all who talk to the policy, and the rewards of one long session say nothing of theirs.
 */
export const baselineVerdicts = (samples: readonly Judged[]): readonly number[] =>
  samples
    .filter(
      ({ verdict, source, advantage }) => advantage === undefined && (verdict !== 0 || source === 'reward'),
    )
    .map(({ verdict }) => Math.min(1, Math.max(-1, verdict)));
