import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/withdrawn`. Says nothing of a turn that was skipped, or is in a batch already. */
export const TurnWithdrawn = defineEvent('turn.withdrawn', 2, {
  topic: 'turns',
  key: (turn) => turn.lane,
  writtenBy: 'collector',
  about: 'A turn that is told already must not train any more, as far as it is in no batch yet.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    adapter: z.string().optional().describe('absent where whoever asked for it did not say'),
    reason: z.enum(['deleted', 'withdrawn']).describe('deleted: by its client; withdrawn: by an operator'),
    by: z.string().describe('id of the event that asked for it'),
  }),
});
export type TurnWithdrawn = EventOf<typeof TurnWithdrawn>;
