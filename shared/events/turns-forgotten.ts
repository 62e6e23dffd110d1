import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Follows `lane.forgotten`, in the topic of turns. Id: `<lane>/turns-forgotten/<last>`. */
export const TurnsForgotten = defineEvent('turns.forgotten', 1, {
  topic: 'turns',
  key: (forgotten) => forgotten.lane,
  writtenBy: 'collector',
  about: 'A lane had no event for a day: the ids of its settled turns are deleted.',
  data: z.object({
    lane: z.string(),
    last: z.iso.datetime().describe('time of the last event of the lane'),
    by: z.string().describe('id of the lane.forgotten event'),
  }),
});
export type TurnsForgotten = EventOf<typeof TurnsForgotten>;
