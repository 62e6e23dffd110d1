import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Moves the head only if `from` is the head; otherwise the outcome is parent-rolled-back. Id: `<batch>/promoted`. */
export const PolicyPromoted = defineEvent('policy.promoted', 2, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'trainer, collector (after a canary)',
  about: 'A candidate passed the gate, and its canary if it had one, and becomes the head.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    from: z.int().min(0),
    to: z.int().min(1),
    checkpoint: z.string(),
    digest: z.string(),
    reason: z.string().optional().describe('only after a canary: which rule decided'),
    figures: z
      .record(z.string(), z.number())
      .optional()
      .describe('only after a canary: counts, evidence and limits'),
  }),
});
export type PolicyPromoted = EventOf<typeof PolicyPromoted>;
