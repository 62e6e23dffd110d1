import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** A judge's vote on a turn. Id: `<turn>/vote/<index>`; the first in the log counts. */
export const VoteCast = defineEvent('vote.cast', 3, {
  topic: 'turns',
  key: (vote) => vote.lane,
  writtenBy: 'judge',
  about: 'A judge answered. Its answer is kept whole.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    index: z.int().min(0),
    vote: z
      .union([z.literal(-1), z.literal(0), z.literal(1), z.null()])
      .describe('null: its text could not be parsed'),
    text: z.string().describe("the judge's words"),
    hint: z.string().optional().describe('hint, if the judge gives one with its votes'),
    reaction: z
      .enum(['moved-on', 'asked-again'])
      .optional()
      .describe('what the person did, whatever the words say about the answer; absent: neither, or unknown'),
    unmet: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('forms that the answer lacks, by names of wishes; absent: not checked'),
    judge: z.string().describe('signals, openai'),
    model: z.string().optional(),
    cost: z.object({ promptTokens: z.int(), completionTokens: z.int(), milliseconds: z.number() }),
  }),
});
export type VoteCast = EventOf<typeof VoteCast>;
