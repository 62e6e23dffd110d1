import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<session>@<epoch>/opened`. Logs of earlier programs have none. */
export const SessionOpened = defineEvent('session.opened', 1, {
  topic: 'turns',
  key: (session) => session.lane,
  writtenBy: 'collector',
  about: "A session's epoch began, by whatever way its first event was found to belong to it.",
  data: z.object({
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    session: z.string(),
    epoch: z.string().describe('id of the event that began it'),
  }),
});
export type SessionOpened = EventOf<typeof SessionOpened>;
