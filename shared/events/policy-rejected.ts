import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<batch>/rejected`. */
export const PolicyRejected = defineEvent('policy.rejected', 1, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer',
  about: 'A candidate did not pass its gate and is not served.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    reason: z.enum(['not-finite', 'kl-to-parent']),
    detail: z.string(),
  }),
});
export type PolicyRejected = EventOf<typeof PolicyRejected>;
