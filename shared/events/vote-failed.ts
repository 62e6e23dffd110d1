import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/failed/<random>`. The third for a turn settles it. */
export const VoteFailed = defineEvent('vote.failed', 1, {
  topic: 'turns',
  key: (vote) => vote.lane,
  writtenBy: 'judge',
  about: 'A vote timed out or broke the judge. After three of these the turn is set aside.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    index: z.int().min(0),
    reason: z
      .enum(['time-limit', 'broke'])
      .describe("time-limit: the vote was ended at --vote-timeout-ms; broke: the judge's thread ended"),
  }),
});
export type VoteFailed = EventOf<typeof VoteFailed>;
