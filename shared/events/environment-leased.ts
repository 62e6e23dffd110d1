import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { expiresAt, leaseFields } from './environment-fields.ts';

/** Id: `<session>/environment/leased`. */
export const EnvironmentLeased = defineEvent('environment.leased', 1, {
  topic: 'conversations',
  key: (lease) => lease.lane,
  writtenBy: 'serving',
  about: 'An attempt got an environment of its own, until it releases it or the lease expires.',
  data: z.object({
    ...leaseFields,
    environment: z.string().describe('kind of environment, such as openenv'),
    task: z.string(),
    taskDigest: z.string().describe('SHA-256 of the task as JSON'),
    attempt: z.int().describe('0 to n - 1'),
    host: z.string().describe('host that runs the attempt'),
    expiresAt,
  }),
});
export type EnvironmentLeased = EventOf<typeof EnvironmentLeased>;
