import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<batch>/update-failed`. */
export const PolicyUpdateFailed = defineEvent('policy.update-failed', 1, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer',
  about: 'A step could not be completed, for a named reason. The loop continues.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    reason: z.enum([
      'strikes',
      'parent-missing',
      'base-changed',
      'training-changed',
      'teacher-missing',
      'samples-missing',
    ]),
    detail: z.string(),
  }),
});
export type PolicyUpdateFailed = EventOf<typeof PolicyUpdateFailed>;
