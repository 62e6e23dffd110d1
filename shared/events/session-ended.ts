import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** An idle end names the last event that the sweeper saw. If there are newer events, the end is obsolete. */
export const SessionEnded = defineEvent('session.ended', 2, {
  topic: 'conversations',
  key: (session) => session.lane,
  writtenBy: 'serving, collector (idle)',
  about: 'A session ended, on request or because it was idle.',
  data: z.object({
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    session: z.string(),
    interactions: z.int().min(0).optional().describe('explicit end by a session key: number of its answers'),
    reason: z.enum(['explicit', 'idle']),
    epoch: z.string().optional().describe('idle: the epoch that the timer saw'),
    last: z.string().optional().describe('idle: id of the last event that the timer saw'),
    discard: z
      .boolean()
      .optional()
      .describe('its client discarded it: none of its turns trains, rewarded or not'),
  }),
});
export type SessionEnded = EventOf<typeof SessionEnded>;
