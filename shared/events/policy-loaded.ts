import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

export const PolicyLoaded = defineEvent('policy.loaded', 1, {
  topic: 'training',
  key: (policy) => policy.adapter,
  writtenBy: 'serving',
  about: 'A replica answers new requests with this version.',
  data: z.object({
    adapter: z.string(),
    version: z.int().min(0),
    replica: z.string(),
    milliseconds: z.number().describe('from reading the adapter to switching the alias'),
  }),
});
export type PolicyLoaded = EventOf<typeof PolicyLoaded>;
