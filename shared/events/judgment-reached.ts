import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** The judgment of a turn. The first in the log settles it. Id: `<turn>/judgment`. */
export const JudgmentReached = defineEvent('judgment.reached', 6, {
  topic: 'turns',
  key: (judgment) => judgment.lane,
  writtenBy: 'judge',
  about: 'A turn is settled: it has a verdict, or it is certain that it gets none.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    score: z
      .number()
      .nullable()
      .describe(
        'majority of the valid votes, 0 on a tie or if none is valid; or the reward; null: unavailable',
      ),
    mean: z.number().describe('mean of the valid votes; 0 if none is valid'),
    votes: z.array(z.union([z.literal(-1), z.literal(0), z.literal(1), z.null()])).readonly(),
    needs: z.int().describe('votes that the turn was opened with'),
    hints: z.array(z.string()).readonly().describe('accepted hints, longest first'),
    inferred: z
      .string()
      .optional()
      .describe(
        'the hint that nobody stated: what the answers that this person complains about have in common',
      ),
    source: z
      .enum(['votes', 'feedback', 'reward', 'reward+process', 'implicit', 'unavailable'])
      .describe(
        'explicit feedback outranks votes; reward: of a rewarded session, 0 counts; reward+process: the same with votes on the step; implicit: weak evidence from what the person did, if there is no other',
      ),
    implied: z
      .enum(['regenerated', 'edited', 'kept', 'asked-again', 'moved-on'])
      .optional()
      .describe('only for implicit: what the person did'),
    reason: z
      .enum(['vote-failed'])
      .optional()
      .describe('only for unavailable: three votes timed out or broke the judge; absent: another cause'),
    advantage: z.number().optional().describe('replaces score minus baseline'),
    process: z
      .object({
        mean: z
          .number()
          .nullable()
          .describe('mean of the valid votes, 0 if none is valid; null: they are missing or do not count'),
        weight: z.number(),
        baseline: z.number(),
        scale: z.number(),
        part: z
          .number()
          .describe(
            'weight * (mean - baseline) / scale, contained in the advantage or, without one, in the score; 0 without a mean',
          ),
        earned: z.string().describe('id of the turn.feedback with the return'),
      })
      .optional()
      .describe('only in a rewarded session whose steps are voted on'),
    by: z.string().describe('id of the event that settled it'),
  }),
});
export type JudgmentReached = EventOf<typeof JudgmentReached>;
