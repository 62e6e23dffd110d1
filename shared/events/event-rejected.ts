import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { position } from './position.ts';

/** Id: `<group>/<topic>/<partition>/<offset>/rejected`. */
export const EventRejected = defineEvent('event.rejected', 1, {
  topic: 'dead-letters',
  key: (rejected) => rejected.subject,
  writtenBy: 'any reader',
  about: 'A record could not be parsed. It is kept whole, with the error.',
  data: z.object({
    topic: z.string(),
    at: position,
    subject: z.string().describe('its key, as received'),
    group: z.string(),
    error: z.string(),
    body: z.string().describe('as received'),
  }),
});
export type EventRejected = EventOf<typeof EventRejected>;
