import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/withdrawn`. It is dropped if it waits, and stays where it is if it is in a batch. */
export const SampleWithdrawn = defineEvent('sample.withdrawn', 3, {
  topic: 'training',
  key: (sample) => sample.adapter,
  writtenBy: 'collector',
  about: 'A sample that may be ready must not come into a batch any more.',
  data: z.object({
    sampleId: z.string(),
    adapter: z.string(),
    reason: z
      .enum(['deleted', 'withdrawn', 'corrected'])
      .describe('corrected: a revised judgment of its turn takes its place'),
  }),
});
export type SampleWithdrawn = EventOf<typeof SampleWithdrawn>;
