import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * Later evidence on a judged turn: feedback that contradicts the judgment, or the words after a thumb. Id:
 * `<turn>/judgment/<n>`. It makes another sample, `<turn>~<n>`.
 */
export const JudgmentRevised = defineEvent('judgment.revised', 2, {
  topic: 'turns',
  key: (judgment) => judgment.lane,
  writtenBy: 'judge',
  about: 'The judgment of a settled turn changed: another verdict stands, or there is a hint now.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    adapter: z.string().optional().describe('absent in events of earlier versions'),
    n: z.int().min(1).describe('number of the revision of this turn'),
    score: z
      .number()
      .nullable()
      .describe('replaces the earlier verdict; null: it stands, and only the hints are new'),
    advantage: z.number().optional().describe('replaces score minus baseline'),
    votes: z.array(z.union([z.literal(-1), z.literal(0), z.literal(1), z.null()])).readonly(),
    hints: z.array(z.string()).readonly().describe('accepted hints, longest first'),
    repeats: z
      .literal(true)
      .optional()
      .describe('its hints were stated before, in an earlier judgment of the turn'),
    source: z
      .enum(['votes', 'feedback'])
      .describe('feedback outranks votes, votes outrank what a person did'),
    by: z.string().describe('id of the event that brought it'),
  }),
});
export type JudgmentRevised = EventOf<typeof JudgmentRevised>;
