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

/** Whether the verdict is one that the baseline is the mean of. */
export const movesBaseline = ({ verdict, source, advantage }: Judged): boolean =>
  advantage === undefined && (verdict !== 0 || source === 'reward');
