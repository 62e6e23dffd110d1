import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * In the place of `policy.promoted`: the batch stays open, and the collector ends the canary with the batch's outcome.
 * Id: `<batch>/canary`.
 */
export const PolicyCanaryStarted = defineEvent('policy.canary-started', 1, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer',
  about: 'A candidate passed the gate and answers a share of the sessions. Their verdicts decide about it.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    from: z.int().min(0),
    to: z.int().min(1),
    checkpoint: z.string(),
    digest: z.string(),
    share: z.number().describe('share of the sessions, above 0 and below 1'),
  }),
});
export type PolicyCanaryStarted = EventOf<typeof PolicyCanaryStarted>;
