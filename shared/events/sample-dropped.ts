import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id: `<turn>/dropped`. */
export const SampleDropped = defineEvent('sample.dropped', 5, {
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
      'no-reward',
      'discarded',
      'deleted',
      'secret',
      'stale',
      'off-lineage',
    ]),
    rule: z
      .string()
      .optional()
      .describe('only of a secret: its kind and the version of the rules, as in jwt@1'),
  }),
});
export type SampleDropped = EventOf<typeof SampleDropped>;
