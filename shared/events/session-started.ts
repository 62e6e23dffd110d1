import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { processTerms } from './process-terms.ts';

export const SessionStarted = defineEvent('session.started', 2, {
  topic: 'conversations',
  key: (session) => session.lane,
  writtenBy: 'serving',
  about: 'A client opened a session explicitly.',
  data: z.object({
    lane: z.string(),
    key: z.string().describe('id of the access key'),
    session: z.string(),
    adapter: z
      .string()
      .optional()
      .describe('the adapter that answers in it; the default adapter in older events'),
    settle: z.enum(['votes', 'reward']),
    sessionKey: z.string().optional().describe('id of the session key that may use it from now on'),
    task: z.string().optional().describe("the client's name for the task that it attempts"),
    process: processTerms
      .optional()
      .describe('the judge votes on its steps while it goes on; absent: it does not'),
    weigh: z
      .enum(['attempt'])
      .optional()
      .describe('attempt: all its samples together weigh as much as one; absent: each weighs as much as one'),
  }),
});
export type SessionStarted = EventOf<typeof SessionStarted>;
