import { z } from 'zod';
import { BatchSubmitted } from './batch-submitted.ts';
import { defineEvent, type EventOf } from './define-event.ts';

const { shape } = BatchSubmitted.schema;

/** Id: that of an operator's command. It trains before new samples, and its samples may be of any age. */
export const BatchReturned = defineEvent('batch.returned', 1, {
  topic: 'training',
  key: (batch) => batch.adapter,
  writtenBy: 'cli',
  about:
    'A batch whose version was rolled back, or never came, is to train again, without the samples that must not.',
  data: z.object({
    batchId: z.string().describe('the batch that was first formed of the samples'),
    adapter: z.string(),
    n: z.int().min(1).describe('number of that batch'),
    size: shape.size,
    maxStaleness: shape.maxStaleness,
    samples: shape.samples
      .refine((samples) => samples.length > 0, 'no sample')
      .describe('samples that train again, at least one'),
    without: z.int().min(0).describe('samples of that batch that were erased, withdrawn or deleted'),
    earlier: shape.earlier,
    settings: shape.settings,
    seed: shape.seed,
    reason: z.string().optional().describe("the operator's words"),
  }),
});
export type BatchReturned = EventOf<typeof BatchReturned>;
