import type { SampleReady } from '../../shared/events/sample-ready.ts';

type Dated = Pick<SampleReady['data'], 'key' | 'session' | 'source' | 'evidence'>;

/**
 * Weight of each sample of a batch, the oldest first: `fade` to the power of how many of the same person came
 * after it. People change their minds, so of two verdicts the later one says more. Verdicts on calls of tools
 * are counted by themselves. Rewards are of no person and all of one moment: they weigh 1.
 */
export function fadedWeights(samples: readonly Dated[], fade: number): readonly number[] {
  const later = new Map<string, number>();
  return samples
    .toReversed()
    .map(({ key, session, source, evidence = 'person' }) => {
      if (source === 'reward') return 1;
      const whose = JSON.stringify([key ?? session, evidence]);
      const age = later.get(whose) ?? 0;
      later.set(whose, age + 1);
      return fade ** age;
    })
    .toReversed();
}
