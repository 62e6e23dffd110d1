import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * Explicit feedback on an answer. It outranks votes, whenever it comes. The last feedback counts; in a rewarded
 * session, the last one before its end.
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
    score: z.number().describe('thumbs: 1 or -1; otherwise the reward'),
    advantage: z
      .number()
      .optional()
      .describe('compared with other attempts at the task; replaces verdict minus baseline'),
    last: z
      .boolean()
      .optional()
      .describe('no answer was named: the last answer of the conversation is meant, not of a side request'),
    comment: z.string().optional(),
  }),
});
export type FeedbackGiven = EventOf<typeof FeedbackGiven>;
