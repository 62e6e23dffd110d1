import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<response>/deleted`. The answer's own fact stays: a log is only added to. */
export const ResponseDeleted = defineEvent('response.deleted', 1, {
  topic: 'conversations',
  key: (deleted) => deleted.lane,
  writtenBy: 'serving',
  about: 'A client deleted a response: it is found by its id no more, and does not train if it has not yet.',
  data: z.object({
    interactionId: z.string().describe('the id of the response'),
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    adapter: z.string().optional().describe('of the response; absent in facts of earlier programs'),
  }),
});
export type ResponseDeleted = EventOf<typeof ResponseDeleted>;
