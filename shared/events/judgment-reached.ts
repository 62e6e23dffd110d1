import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** What was made of one turn. The first one in the log settles it. Id: `<turn>/judgment`. */
export const JudgmentReached = defineEvent('judgment.reached', 5, {
  topic: 'turns',
  key: (judgment) => judgment.lane,
  writtenBy: 'judge',
  about: 'A turn is settled: it has a verdict, or it is known that it will have none.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    score: z
      .number()
      .nullable()
      .describe(
        'majority of the valid votes, 0 on a tie or when none is valid; or the reward; null: unavailable',
      ),
    mean: z.number().describe('mean of the valid votes; 0 when none is valid'),
    votes: z.array(z.union([z.literal(-1), z.literal(0), z.literal(1), z.null()])).readonly(),
    needs: z.int().describe('votes that the turn was opened with'),
    hints: z.array(z.string()).readonly().describe('accepted hindsight hints, longest first'),
    inferred: z
      .string()
      .optional()
      .describe(
        'the one of the hints that nobody gave: what the answers have in common that this person complains of',
      ),
    source: z
      .enum(['votes', 'feedback', 'reward', 'implicit', 'unavailable'])
      .describe(
        'explicit feedback outranks votes; reward: of a session that is settled by it, 0 counts; implicit: weak evidence of what the person did, where nothing else tells',
      ),
    implied: z
      .enum(['regenerated', 'edited', 'kept', 'asked-again', 'moved-on'])
      .optional()
      .describe('only of implicit: what the person did'),
    reason: z
      .enum(['vote-failed'])
      .optional()
      .describe(
        'only of unavailable: three votes were ended at their time limit or broke the judge; absent: another cause',
      ),
    advantage: z.number().optional().describe('stands in for the score less the baseline'),
    by: z.string().describe('id of the event that settled it'),
  }),
});
export type JudgmentReached = EventOf<typeof JudgmentReached>;
