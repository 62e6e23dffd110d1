import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { expiresAt, leaseFields } from './environment-fields.ts';

/** Id: `<session>/environment/renewed/<renewal>`. */
export const EnvironmentRenewed = defineEvent('environment.renewed', 1, {
  topic: 'conversations',
  key: (lease) => lease.lane,
  writtenBy: 'serving',
  about: 'The client of an attempt is alive, so its lease continues.',
  data: z.object({
    ...leaseFields,
    renewal: z.int().describe('1 for the first'),
    expiresAt,
  }),
});
export type EnvironmentRenewed = EventOf<typeof EnvironmentRenewed>;
