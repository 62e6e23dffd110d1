import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<session>@<epoch>/closed`. */
export const SessionClosed = defineEvent('session.closed', 2, {
  topic: 'turns',
  key: (session) => session.lane,
  writtenBy: 'collector',
  about: "A session's epoch ended. All its turns are reported.",
  data: z.object({
    lane: z.string(),
    key: z.string(),
    session: z.string(),
    epoch: z.string(),
    discard: z.boolean().optional().describe('none of its turns trains'),
    weigh: z.enum(['attempt']).optional().describe('as in session.started'),
    by: z.string().describe('id of the event that ended it'),
  }),
});
export type SessionClosed = EventOf<typeof SessionClosed>;
