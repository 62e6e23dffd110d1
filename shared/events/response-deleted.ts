import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<response>/deleted`. The answer's own event stays, because the log is append-only. */
export const ResponseDeleted = defineEvent('response.deleted', 1, {
  topic: 'conversations',
  key: (deleted) => deleted.lane,
  writtenBy: 'serving',
  about:
    'A client deleted a response. It can no longer be found by its id, and does not train unless it already has.',
  data: z.object({
    interactionId: z.string().describe('id of the response'),
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    adapter: z.string().optional().describe('of the response; absent in events of earlier versions'),
  }),
});
export type ResponseDeleted = EventOf<typeof ResponseDeleted>;
