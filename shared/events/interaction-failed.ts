import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** An accepted request that failed on our side. Requests refused for client errors are not recorded. */
export const InteractionFailed = defineEvent('interaction.failed', 1, {
  topic: 'conversations',
  key: (interaction) => interaction.lane,
  writtenBy: 'serving',
  about: 'An accepted request ended without an answer.',
  data: z.object({
    interactionId: z.string(),
    requestId: z.string(),
    lane: z.string(),
    key: z.string(),
    adapter: z.string(),
    code: z.string().describe('error code of serving'),
    message: z.string(),
  }),
});
export type InteractionFailed = EventOf<typeof InteractionFailed>;
