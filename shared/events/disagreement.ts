import { z } from 'zod';

/** How the content of a request contradicts what the client sent about it; the client wins. */
export const disagreement = z.object({
  session: z.string().optional().describe('the session according to the content'),
  turn: z
    .object({
      type: z.enum(['main', 'side']),
      rule: z.string().describe('rule that the content matches'),
    })
    .optional()
    .describe('the turn type according to the content'),
});
export type Disagreement = z.output<typeof disagreement>;
