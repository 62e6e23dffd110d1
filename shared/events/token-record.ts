import { z } from 'zod';
import { intList, numberList } from './number-list.ts';

/** Tokens recorded during sampling. Text is never re-tokenised into a training target. */
export const tokenRecord = z.object({
  promptIds: intList().describe('what the policy saw, after any window cut'),
  responseIds: intList().describe('sampled ids, including the end-of-turn token'),
  logProbs: numberList().describe('nats, one per response id; unfiltered, at effectiveTemperature'),
  allowed: z
    .array(z.object({ at: z.int(), ids: intList() }))
    .readonly()
    .optional()
    .describe(
      'positions of the answer at which a forced call or a format allowed these ids only; the log-prob there is within them',
    ),
  effectiveTemperature: z.number().positive().describe('the temperature, or 1 if it is below 0.1 (greedy)'),
  greedy: z.boolean().describe('picked by arg max: has staleness weight 1'),
  filters: z
    .object({ topP: z.number(), topK: z.int(), minP: z.number().optional() })
    .describe('sampling filters; topP 1, topK 0 and no minP mean none'),
});
export type TokenRecord = z.output<typeof tokenRecord>;
