import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Brings a verdict to the topic of the head, so that versions can be compared. Id: `<turn>/verdict`. */
export const VerdictRecorded = defineEvent('verdict.recorded', 1, {
  topic: 'training',
  key: (verdict) => verdict.adapter,
  writtenBy: 'collector',
  about:
    'A turn that a version answered has its first verdict, or failed visibly. Versions are compared by these.',
  data: z.object({
    turnId: z.string(),
    adapter: z.string(),
    version: z.int().min(0).describe('the version that answered'),
    key: z.string().optional().describe('id of the access key; absent: unknown'),
    score: z.number().describe('-1 to 1; below 0 is bad'),
    source: z
      .enum(['votes', 'feedback', 'implicit', 'truncated', 'empty'])
      .describe(
        'truncated, empty: nobody judged the answer, but it was cut off by its limit, or says nothing',
      ),
    wishes: z.array(z.string()).readonly().describe('known wishes that its hints state'),
  }),
});
export type VerdictRecorded = EventOf<typeof VerdictRecorded>;
