import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** A judge's hint for a turn. Id: `<turn>/hint/<index>`; the first in the log counts. */
export const HintCast = defineEvent('hint.cast', 1, {
  topic: 'turns',
  key: (vote) => vote.lane,
  writtenBy: 'judge',
  about: 'A judge was asked for a hint. Its answer is kept whole.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    index: z.int().min(0),
    decision: z
      .union([z.literal(-1), z.literal(1), z.null()])
      .describe(
        '1: the next state shows what was wanted; -1: it does not; null: the text could not be parsed',
      ),
    text: z.string().describe("the judge's words"),
    hint: z.string().optional().describe('only with a decision of 1'),
    judge: z.string().describe('openai'),
    model: z.string().optional(),
    cost: z.object({ promptTokens: z.int(), completionTokens: z.int(), milliseconds: z.number() }),
  }),
});
export type HintCast = EventOf<typeof HintCast>;
