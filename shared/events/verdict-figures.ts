import { z } from 'zod';

/** The numbers of a decision about a version; shared/lineage/evidence.ts computes the evidence from the others. */
export const verdictFigures = z.object({
  turnsBefore: z.int().min(0).describe('verdicts on the versions compared with'),
  badBefore: z.int().min(0),
  turns: z.int().min(0).describe('verdicts on the version and on those trained from it'),
  bad: z.int().min(0),
  since: z.int().min(0).describe('the oldest version compared with; the others are those up to the parent'),
  evidence: z.number().describe('e-value: that the rate of bad verdicts rose by more than the margin'),
  alpha: z.number().describe('the version is worse if the evidence reaches 1 / alpha'),
  margin: z.number(),
});
