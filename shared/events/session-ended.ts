import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/**
 * An idle end names what the sweeper saw last; if more happened since, it is out of date and ends nothing.
 */
export const SessionEnded = defineEvent('session.ended', 2, {
  topic: 'conversations',
  key: (session) => session.lane,
  writtenBy: 'serving, collector (idle)',
  about: 'A session ended: on request, or because nothing happened for the idle time.',
  data: z.object({
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    session: z.string(),
    interactions: z.int().min(0).optional().describe('explicit, by a session key: answers that it had'),
    reason: z.enum(['explicit', 'idle']),
    epoch: z.string().optional().describe('idle: the epoch that the sweeper saw'),
    last: z.string().optional().describe('idle: id of the last event that the sweeper saw'),
    discard: z
      .boolean()
      .optional()
      .describe('its client took it back: no turn of it trains, rewarded or not'),
  }),
});
export type SessionEnded = EventOf<typeof SessionEnded>;
