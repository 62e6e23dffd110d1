import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Names the lane's time that the sweeper saw. If the lane has newer events, the event is obsolete. */
export const LaneForgotten = defineEvent('lane.forgotten', 1, {
  topic: 'conversations',
  key: (forgotten) => forgotten.lane,
  writtenBy: 'collector',
  about: 'A lane has nothing open and had no event for a day: its memory of ids and words is deleted.',
  data: z.object({
    lane: z.string(),
    last: z.string().describe("RFC 3339: the lane's latest event time seen by the timer"),
  }),
});
export type LaneForgotten = EventOf<typeof LaneForgotten>;
