import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Takes effect if the head is `from` or descends from it, and `to` was once the head. */
export const PolicyRolledBack = defineEvent('policy.rolled-back', 1, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'cli, serving (operator)',
  about: 'An operator moved the head to an earlier version.',
  data: z.object({
    adapter: z.string(),
    from: z.int().min(0),
    to: z.int().min(0),
    reason: z.string().optional(),
  }),
});
export type PolicyRolledBack = EventOf<typeof PolicyRolledBack>;
