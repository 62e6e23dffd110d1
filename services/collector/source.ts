import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';

/** `source` of the events of this service. */
export const COLLECTOR = 'clawloop/collector';

/** The envelope of an emitted event. Its time is that of the causing event, because a fold has no clock. */
export const envelopeOf = (cause: ClawLoopEvent) => ({
  source: COLLECTOR,
  time: cause.time,
  traceparent: cause.traceparent,
});
