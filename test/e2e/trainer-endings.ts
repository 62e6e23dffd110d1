import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';

const outcomes = ['policy.promoted', 'policy.rejected', 'policy.update-failed'];
/** Distinct ids of the outcomes of a batch, and how many digests its trained versions have. */
export function endings(events: readonly ClawLoopEvent[], n: number) {
  const of = events.filter((event) => 'batchId' in event.data && event.data.batchId === `default/batch/${n}`);
  return {
    outcomes: [...new Set(of.filter(({ type }) => outcomes.includes(type)).map(({ id }) => id))],
    digests: new Set(of.flatMap((event) => (event.type === 'policy.trained' ? [event.data.digest] : [])))
      .size,
  };
}
/** What `endings` says of a batch that became a version. */
export const endedOnce = (n: number) => ({ outcomes: [`default/batch/${n}/promoted`], digests: 1 });
