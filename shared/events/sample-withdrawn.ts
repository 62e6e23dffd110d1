import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/withdrawn`. A waiting sample is dropped; a sample in a batch stays. */
export const SampleWithdrawn = defineEvent('sample.withdrawn', 3, {
  topic: 'training',
  key: (sample) => sample.adapter,
  writtenBy: 'collector',
  about: 'A sample must no longer be put into a batch.',
  data: z.object({
    sampleId: z.string(),
    adapter: z.string(),
    reason: z
      .enum(['deleted', 'withdrawn', 'corrected'])
      .describe('corrected: a revised judgment of its turn replaces it'),
  }),
});
export type SampleWithdrawn = EventOf<typeof SampleWithdrawn>;
