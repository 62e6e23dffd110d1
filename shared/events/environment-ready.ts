import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { leaseFields } from './environment-fields.ts';

/** Id: `<session>/environment/ready`. */
export const EnvironmentReady = defineEvent('environment.ready', 1, {
  topic: 'conversations',
  key: (lease) => lease.lane,
  writtenBy: 'serving',
  about: 'The environment is open and has shown the task.',
  data: z.object({
    ...leaseFields,
    ms: z.number().describe('ms since the lease'),
    version: z.string().optional().describe('digest of its image, or version of its server'),
  }),
});
export type EnvironmentReady = EventOf<typeof EnvironmentReady>;
