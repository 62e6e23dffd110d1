import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { position } from './position.ts';
import { recordedTrainingSettings } from './training-settings.ts';

/** Blocks further batches of its adapter until the batch has an outcome. Id: `<adapter>/batch/<n>`. */
export const BatchSubmitted = defineEvent('batch.submitted', 6, {
  topic: 'training',
  key: (batch) => batch.adapter,
  writtenBy: 'collector',
  about: 'A batch is to be trained. At most one batch per adapter is open.',
  data: z.object({
    batchId: z.string(),
    adapter: z.string(),
    n: z.int().min(1).describe('number of the batch and of the version that it makes; never reused'),
    parent: z.int().min(0).describe('the head when the batch was formed'),
    size: z
      .int()
      .min(1)
      .describe(
        'requested samples; fewer only after batch.requested, more for a whole session or to keep samples from growing too old',
      ),
    maxStaleness: z.int().min(0).describe('versions'),
    samples: z
      .array(
        z.object({
          sampleId: z.string(),
          at: position,
          without: z
            .array(z.string())
            .readonly()
            .optional()
            .describe(
              'wishes in its hints that do not teach, because they are set aside or contradicted; absent: none',
            ),
          standing: z
            .array(z.string())
            .readonly()
            .optional()
            .describe('earlier wishes of its person that teach in addition; absent: none'),
        }),
      )
      .readonly()
      .describe('samples, with the position of each sample.ready in this topic'),
    earlier: z
      .array(z.object({ sampleId: z.string(), at: position }))
      .readonly()
      .optional()
      .describe(
        'samples of earlier batches whose requests the gate asks again and which do not train; absent: none, as in batches of earlier versions',
      ),
    settings: recordedTrainingSettings,
    seed: z.int(),
    again: z
      .string()
      .optional()
      .describe(
        'the batch of a rolled-back version whose samples, settings and seed it has; absent: a batch of new samples',
      ),
  }),
});
export type BatchSubmitted = EventOf<typeof BatchSubmitted>;
