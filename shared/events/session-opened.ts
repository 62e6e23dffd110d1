import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<session>@<epoch>/opened`. Older logs have none. */
export const SessionOpened = defineEvent('session.opened', 1, {
  topic: 'turns',
  key: (session) => session.lane,
  writtenBy: 'collector',
  about: 'An epoch of a session began, however its first event was assigned to it.',
  data: z.object({
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    session: z.string(),
    epoch: z.string().describe('id of the event that began it'),
  }),
});
export type SessionOpened = EventOf<typeof SessionOpened>;
