import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

export const SessionStarted = defineEvent('session.started', 1, {
  topic: 'conversations',
  key: (session) => session.lane,
  writtenBy: 'serving',
  about: 'A client opened a session explicitly.',
  data: z.object({
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    session: z.string(),
    adapter: z.string().optional().describe('the one that answers in it; the default one in older facts'),
    settle: z.enum(['votes', 'reward']),
    sessionKey: z.string().optional().describe('id of the session key that speaks for it from now on'),
    task: z.string().optional().describe('what it is an attempt at, as the client calls it'),
  }),
});
export type SessionStarted = EventOf<typeof SessionStarted>;
