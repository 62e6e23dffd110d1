import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** What a gate finds of a candidate whose numbers are all finite. */
export const gateReason = z.enum(['kl-to-parent', 'kl-to-base', 'content', 'collapse', 'steerability']);

/** Id: `<batch>/rejected`. `nothing-learned`: no sample of the batch had anything to teach, so there is no candidate. */
export const PolicyRejected = defineEvent('policy.rejected', 2, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer',
  about: 'A candidate did not pass its gate and is not served.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    reason: z.enum(['not-finite', 'nothing-learned', ...gateReason.options]),
    detail: z.string(),
    figures: z
      .record(z.string(), z.number())
      .optional()
      .describe('what was measured, and the limits, by name; from version 2 on'),
  }),
});
export type PolicyRejected = EventOf<typeof PolicyRejected>;
