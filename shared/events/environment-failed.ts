import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { environmentFailureKinds, leaseFields } from './environment-fields.ts';

/** Id: `<session>/environment/failed`. */
export const EnvironmentFailed = defineEvent('environment.failed', 1, {
  topic: 'conversations',
  key: (lease) => lease.lane,
  writtenBy: 'serving',
  about: 'The environment itself failed, so the attempt has no reward.',
  data: z.object({
    ...leaseFields,
    kind: z.enum(environmentFailureKinds),
    reason: z.string(),
  }),
});
export type EnvironmentFailed = EventOf<typeof EnvironmentFailed>;
