import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/dropped`. */
export const SampleDropped = defineEvent('sample.dropped', 9, {
  topic: 'training',
  key: (sample) => sample.adapter,
  writtenBy: 'collector',
  about: 'A completed turn will not train, for a named reason.',
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
    ]),
    rule: z
      .string()
      .optional()
      .describe(
        'of a secret its kind and the version of the rules, as in jwt@1; of a lost record its position; of what is set aside or contradicted its wishes; else absent',
      ),
    coming: z
      .object({
        session: z.string().describe('<session>@<epoch>'),
        following: z.int().min(0),
      })
      .optional()
      .describe('only of a lost record in a rewarded session: how many samples of the session still follow'),
  }),
});
export type SampleDropped = EventOf<typeof SampleDropped>;
