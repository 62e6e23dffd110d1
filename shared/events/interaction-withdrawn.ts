import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<interaction>/taken-back`. The answer's own event stays, because the log is append-only. */
export const InteractionWithdrawn = defineEvent('interaction.withdrawn', 1, {
  topic: 'conversations',
  key: (withdrawn) => withdrawn.lane,
  writtenBy: 'cli, serving (operator)',
  about: 'An operator withdrew a turn. It does not train unless it is already in a batch.',
  data: z.object({
    interactionId: z.string(),
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    adapter: z.string(),
    reason: z.string().optional().describe("the operator's words"),
  }),
});
export type InteractionWithdrawn = EventOf<typeof InteractionWithdrawn>;
