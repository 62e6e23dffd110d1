import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * Later evidence on a turn that has its judgment: feedback that says otherwise, or the words after a thumb. Id:
 * `<turn>/judgment/<n>`. Makes a sample of its own, `<turn>~<n>`.
 */
export const JudgmentRevised = defineEvent('judgment.revised', 2, {
  topic: 'turns',
  key: (judgment) => judgment.lane,
  writtenBy: 'judge',
  about: 'What is known of a settled turn has changed: another verdict stands, or there is a hint now.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    adapter: z.string().optional().describe('absent in facts of earlier programs'),
    n: z.int().min(1).describe('of the revisions of this turn'),
    score: z
      .number()
      .nullable()
      .describe('takes the place of the verdict before; null: that one stands, and only the hints are new'),
    advantage: z.number().optional().describe('stands in for the score less the baseline'),
    votes: z.array(z.union([z.literal(-1), z.literal(0), z.literal(1), z.null()])).readonly(),
    hints: z.array(z.string()).readonly().describe('accepted hindsight hints, longest first'),
    source: z.enum(['votes', 'feedback']).describe('feedback outranks votes, votes what a person only did'),
    by: z.string().describe('id of the event that brought it'),
  }),
});
export type JudgmentRevised = EventOf<typeof JudgmentRevised>;
