import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';

/**
 * What every fact of a fold takes over from the event that caused it. Time comes from the event: a fold has
 * no clock.
 */
export const facts = (cause: ClawLoopEvent) => ({
  source: 'clawloop/collector',
  time: cause.time,
  traceparent: cause.traceparent,
});
