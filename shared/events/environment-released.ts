import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { leaseFields } from './environment-fields.ts';

/** Id: `<session>/environment/released`. */
export const EnvironmentReleased = defineEvent('environment.released', 1, {
  topic: 'conversations',
  key: (lease) => lease.lane,
  writtenBy: 'serving',
  about: 'The environment of an attempt is free.',
  data: z.object({
    ...leaseFields,
    by: z
      .enum(['client', 'expiry'])
      .describe('the client of the attempt, or the end of a lease that it did not renew'),
  }),
});
export type EnvironmentReleased = EventOf<typeof EnvironmentReleased>;
