import type { SampleReady } from '../../shared/events/sample-ready.ts';

type Dated = Pick<SampleReady['data'], 'key' | 'session' | 'source' | 'evidence'>;

/**
 * Weight of each sample of a batch, oldest first: `fade` to the power of the number of later samples of the
 * same person. People change their minds, so a later verdict says more. Verdicts on tool calls are counted
 * separately. Rewards do not come from a person and are all given at one time, so they weigh 1.
 */
export function fadedWeights(samples: readonly Dated[], fade: number): readonly number[] {
  const later = new Map<string, number>();
  return samples
    .toReversed()
    .map(({ key, session, source, evidence = 'person' }) => {
      if (source === 'reward') return 1;
      const group = JSON.stringify([key ?? session, evidence]);
      const age = later.get(group) ?? 0;
      later.set(group, age + 1);
      return fade ** age;
    })
    .toReversed();
}
