import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** One judge's view of one turn. Id: `<turn>/vote/<index>`; the first one in the log counts. */
export const VoteCast = defineEvent('vote.cast', 3, {
  topic: 'turns',
  key: (vote) => vote.lane,
  writtenBy: 'judge',
  about: 'A judge answered; what it said is kept whole.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    index: z.int().min(0),
    vote: z
      .union([z.literal(-1), z.literal(0), z.literal(1), z.null()])
      .describe('null: its text could not be parsed'),
    text: z.string().describe('what the judge said'),
    hint: z.string().optional().describe('hindsight hint, where the judge gives one'),
    reaction: z
      .enum(['moved-on', 'asked-again'])
      .optional()
      .describe(
        'what the person did, whatever the words say of the answer; absent: neither, or it is unknown',
      ),
    unmet: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('forms that the answer does not have, by names of wishes; absent: none is looked for'),
    judge: z.string().describe('signals, openai'),
    model: z.string().optional(),
    cost: z.object({ promptTokens: z.int(), completionTokens: z.int(), milliseconds: z.number() }),
  }),
});
export type VoteCast = EventOf<typeof VoteCast>;
