import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { processBaseline } from './process-terms.ts';

/**
 * Explicit feedback on an answer. It outranks votes, whenever it comes. The last feedback counts; in a rewarded
 * session, the last one before its end.
 */
export const FeedbackGiven = defineEvent('feedback.given', 3, {
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
    steps: z
      .array(
        z.object({
          interactionId: z.string(),
          advantage: z
            .number()
            .optional()
            .describe('of this step alone: added to its advantage along the conversation tree'),
          process: processBaseline
            .optional()
            .describe('what the votes on this step are compared with; absent: they do not count'),
        }),
      )
      .readonly()
      .optional()
      .describe(
        'of a rewarded session: its steps, compared with those of other attempts; the last list counts',
      ),
  }),
});
export type FeedbackGiven = EventOf<typeof FeedbackGiven>;
