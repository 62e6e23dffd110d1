import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';

/** The envelope of an emitted event. Its time is that of the causing event, because a fold has no clock. */
export const envelopeOf = (cause: ClawLoopEvent) => ({
  source: 'clawloop/collector',
  time: cause.time,
  traceparent: cause.traceparent,
});
