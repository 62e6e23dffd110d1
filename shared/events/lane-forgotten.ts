import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * Names the lane's time that the sweeper saw; if it moved on since, this is out of date and forgets nothing.
 */
export const LaneForgotten = defineEvent('lane.forgotten', 1, {
  topic: 'conversations',
  key: (forgotten) => forgotten.lane,
  writtenBy: 'collector',
  about: 'Nothing is open in a lane, and nothing happened in it for a day: its memory of ids and words goes.',
  data: z.object({
    lane: z.string(),
    last: z.string().describe("RFC 3339: the lane's latest event time that the sweeper saw"),
  }),
});
export type LaneForgotten = EventOf<typeof LaneForgotten>;
