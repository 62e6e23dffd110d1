import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { processBaseline } from './process-terms.ts';

/** Explicit feedback. It follows its turn, so that a judge never reads it first. Id: `<feedback>/feedback`. */
export const TurnFeedback = defineEvent('turn.feedback', 3, {
  topic: 'turns',
  key: (feedback) => feedback.lane,
  writtenBy: 'collector',
  about: 'Feedback belongs to this turn.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    score: z.number(),
    advantage: z
      .number()
      .optional()
      .describe('compared with other attempts at the task; replaces verdict minus baseline'),
    comment: z.string().optional(),
    given: z.string().describe('id of the feedback; for a return without one, of the end of its session'),
    return: z
      .object({
        own: z.number().nullable().describe('the reward of this turn itself; null: none was set'),
        parent: z.string().nullable().describe('the turn that it continues; null: none'),
        discount: z.number(),
        step: z
          .number()
          .optional()
          .describe('part of the advantage that belongs to this step alone; absent: none'),
      })
      .optional()
      .describe('the score is a return along the conversation tree'),
    process: processBaseline
      .nullable()
      .optional()
      .describe(
        'what the votes on this step are compared with; null: they do not count; absent: nobody votes',
      ),
  }),
});
export type TurnFeedback = EventOf<typeof TurnFeedback>;
