import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

export const BatchRequested = defineEvent('batch.requested', 1, {
  topic: 'training',
  key: (request) => request.adapter,
  writtenBy: 'cli, collector (waited long enough)',
  about: 'A smaller batch may be formed: train the samples that are waiting.',
  data: z.object({
    adapter: z.string(),
    after: z.int().min(0).describe('number of the last batch; ignored if a later batch exists'),
    reason: z.enum(['operator', 'waited']),
  }),
});
export type BatchRequested = EventOf<typeof BatchRequested>;
