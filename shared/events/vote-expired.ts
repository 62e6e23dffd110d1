import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/expired`. */
export const VoteExpired = defineEvent('vote.expired', 1, {
  topic: 'turns',
  key: (vote) => vote.lane,
  writtenBy: 'judge',
  about: "A turn's votes missed the deadline.",
  data: z.object({ turnId: z.string(), lane: z.string() }),
});
export type VoteExpired = EventOf<typeof VoteExpired>;
