import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<interaction>/taken-back`. The answer's own fact stays: a log is only added to. */
export const InteractionWithdrawn = defineEvent('interaction.withdrawn', 1, {
  topic: 'conversations',
  key: (withdrawn) => withdrawn.lane,
  writtenBy: 'cli',
  about: 'An operator took a turn back: it does not train if it is in no batch yet.',
  data: z.object({
    interactionId: z.string(),
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    adapter: z.string(),
    reason: z.string().optional().describe('what the operator said'),
  }),
});
export type InteractionWithdrawn = EventOf<typeof InteractionWithdrawn>;
