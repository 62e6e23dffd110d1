import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/withdrawn`. No effect on a turn that was skipped or is in a batch. */
export const TurnWithdrawn = defineEvent('turn.withdrawn', 2, {
  topic: 'turns',
  key: (turn) => turn.lane,
  writtenBy: 'collector',
  about: 'A reported turn must no longer train, unless it is already in a batch.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    adapter: z.string().optional().describe('absent if the request did not name it'),
    reason: z.enum(['deleted', 'withdrawn']).describe('deleted: by its client; withdrawn: by an operator'),
    by: z.string().describe('id of the event that requested it'),
  }),
});
export type TurnWithdrawn = EventOf<typeof TurnWithdrawn>;
