import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * Explicit feedback on one answer. It outranks votes, whenever it comes. The last one counts; in a session that is
 * settled by reward, the last one before its end.
 */
export const FeedbackGiven = defineEvent('feedback.given', 2, {
  topic: 'conversations',
  key: (feedback) => feedback.lane,
  writtenBy: 'serving',
  about: 'A person or a program rated an answer.',
  data: z.object({
    interactionId: z.string(),
    lane: z.string().describe('the lane of the completion id'),
    key: z.string().describe('id of the access key that gave it'),
    score: z.number().describe('thumbs: 1 or -1; else the scalar reward'),
    advantage: z.number().optional().describe('against other attempts at the task; stands in for a baseline'),
    last: z
      .boolean()
      .optional()
      .describe('no answer was named: the last one of the conversation is meant, not of a request beside it'),
    comment: z.string().optional(),
  }),
});
export type FeedbackGiven = EventOf<typeof FeedbackGiven>;
