import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { verdictFigures } from './verdict-figures.ts';

/**
 * Takes effect if the head is `from` or descends from it, and `to` was once the head. Id of an automatic one:
 * `<turn>/rolled-back`, the turn whose verdict decided.
 */
export const PolicyRolledBack = defineEvent('policy.rolled-back', 2, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'cli, serving (operator), collector',
  about: 'The head moves to an earlier version: an operator asked for it, or the verdicts got worse.',
  data: z.object({
    adapter: z.string(),
    from: z.int().min(0),
    to: z.int().min(0),
    reason: z.string().optional(),
    cause: z
      .enum(['operator', 'automatic'])
      .optional()
      .describe('absent: operator, as in events of version 1'),
    turnId: z.string().optional().describe('only for automatic: the turn whose verdict decided'),
    figures: verdictFigures.optional().describe('only for automatic'),
  }),
});
export type PolicyRolledBack = EventOf<typeof PolicyRolledBack>;
