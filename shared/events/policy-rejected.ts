import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Reasons of the gate for a candidate with finite numbers. */
export const gateReason = z.enum(['kl-to-parent', 'kl-to-base', 'content', 'collapse', 'steerability']);

/** Id: `<batch>/rejected`. `nothing-learned`: no sample had a training signal, so there is no candidate. */
export const PolicyRejected = defineEvent('policy.rejected', 2, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer, collector (canary)',
  about: 'A candidate failed the gate or its canary, or nothing was learned. The head stays.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    reason: z.enum(['not-finite', 'nothing-learned', 'canary', ...gateReason.options]),
    detail: z.string(),
    figures: z
      .record(z.string(), z.number())
      .optional()
      .describe('measured figures and limits, by name; from version 2 on'),
  }),
});
export type PolicyRejected = EventOf<typeof PolicyRejected>;
