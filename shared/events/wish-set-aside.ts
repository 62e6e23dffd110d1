import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Counts of a wish when it is set aside or taken up again. */
export const wishNumbers = z.object({
  adapter: z.string(),
  key: z.string().optional().describe('id of the access key of the person who has the wish'),
  wish: z
    .string()
    .describe("a kind of known wish; own:<hash> of a person's words; none: complaints without a wish"),
  corrections: z.int().min(0).describe('since it was first stated, or taken up again'),
  good: z.int().min(0).describe('good verdicts of the same person since then'),
  by: z.string().describe('id of the sample that decided it'),
});

/** Id: `<turn>/set-aside/<wish>`. */
export const WishSetAside = defineEvent('wish.set-aside', 1, {
  topic: 'training',
  key: (wish) => wish.adapter,
  writtenBy: 'collector',
  about: 'The model does not learn a wish: samples for it no longer train.',
  data: wishNumbers,
});
export type WishSetAside = EventOf<typeof WishSetAside>;
