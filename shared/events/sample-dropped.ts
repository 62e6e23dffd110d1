import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<sample>/dropped`, for a sample that waited to train again with `/<id of batch.returned>`. */
export const SampleDropped = defineEvent('sample.dropped', 10, {
  topic: 'training',
  key: (sample) => sample.adapter,
  writtenBy: 'collector',
  about: 'A completed turn will not train, for the given reason.',
  data: z.object({
    sampleId: z.string(),
    adapter: z.string(),
    reason: z.enum([
      'no-verdict',
      'no-hint',
      'unavailable',
      'vote-failed',
      'no-reward',
      'discarded',
      'deleted',
      'withdrawn',
      'corrected',
      'secret',
      'stale',
      'off-lineage',
      'record-gone',
      'set-aside',
      'contradicted',
      'too-late',
      'already-trained',
    ]),
    rule: z
      .string()
      .optional()
      .describe(
        'for a secret its kind and rule version, such as jwt@1; for a lost record its position; for set-aside or contradicted its wishes; for already-trained its batch; otherwise absent',
      ),
    returned: z
      .string()
      .optional()
      .describe('only for a sample that waited to train again: id of its batch.returned'),
    coming: z
      .object({
        session: z.string().describe('<session>@<epoch>'),
        following: z.int().min(0),
      })
      .optional()
      .describe('only for a lost record in a rewarded session: how many samples of the session still follow'),
  }),
});
export type SampleDropped = EventOf<typeof SampleDropped>;
