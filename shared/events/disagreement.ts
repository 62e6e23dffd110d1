import { z } from 'zod';

/** Where the content of a request tells something else than what the client said of it, which holds. */
export const disagreement = z.object({
  session: z.string().optional().describe('the session that the content names'),
  turn: z
    .object({
      type: z.enum(['main', 'side']),
      rule: z.string().describe('the rule that the content matches'),
    })
    .optional()
    .describe('what the turn is by its content'),
});
export type Disagreement = z.output<typeof disagreement>;
