import { z } from 'zod';

/** What was sampled, recorded while it was sampled. Text is never re-tokenised into a training target. */
export const tokenRecord = z.object({
  promptIds: z.array(z.int()).readonly().describe('what the policy saw, after any window cut'),
  responseIds: z.array(z.int()).readonly().describe('sampled ids, the end-of-turn token included'),
  logProbs: z
    .array(z.number())
    .readonly()
    .describe('nats, one per response id; unfiltered, at effectiveTemperature'),
  effectiveTemperature: z.number().positive().describe('the temperature, or 1 when it is below 0.1 (greedy)'),
  greedy: z.boolean().describe('picked by arg max: takes staleness weight 1'),
  filters: z
    .object({ topP: z.number(), topK: z.int(), minP: z.number().optional() })
    .describe('sampling filters in force; topP 1, topK 0 and no minP mean none'),
});
export type TokenRecord = z.output<typeof tokenRecord>;
