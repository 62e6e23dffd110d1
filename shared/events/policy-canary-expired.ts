import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Decides nothing itself: the collector looks at the canary when it reads this. Id: `<batch>/canary-expired`. */
export const PolicyCanaryExpired = defineEvent('policy.canary-expired', 1, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'collector (a timer)',
  about:
    'The time of a canary is over, so it ends even if nobody chats. Ignored if it has ended, or if time is left.',
  data: z.object({ batchId: z.string(), adapter: z.string() }),
});
export type PolicyCanaryExpired = EventOf<typeof PolicyCanaryExpired>;
