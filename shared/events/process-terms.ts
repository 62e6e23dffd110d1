import { z } from 'zod';

/** How the judge votes on the steps of a rewarded session while it goes on. */
export const processTerms = z.object({
  votes: z.int().min(1).max(15).describe('votes per step'),
  weight: z.number().min(-10).max(10).describe('weight of the mean vote beside the return'),
});
export type ProcessTerms = z.output<typeof processTerms>;

/** What the mean vote on a step is compared with: weight * (mean - baseline) / scale is added to its return. */
export const processBaseline = z.object({
  baseline: z.number(),
  scale: z.number().positive(),
});
export type ProcessBaseline = z.output<typeof processBaseline>;
