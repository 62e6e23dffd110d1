import { z } from 'zod';
import type { LeftoverLimit } from '../lang/leftovers.ts';

/** How long leftovers stay that nothing uses any more. Serving and the trainer take these settings. */
export const AsideConfig = z.object({
  asideDays: z
    .number()
    .positive()
    .default(30)
    .describe(
      'days after which leftovers are removed: trainer: checkpoints that were set aside; serving: events that were set aside, and copies of adapters that no engine lists',
    ),
  asideMib: z
    .number()
    .min(0)
    .default(1_024)
    .describe('MiB of each kind of these leftovers, per adapter; above it the oldest are removed earlier'),
});
type AsideConfig = z.output<typeof AsideConfig>;

export const asideLimitOf = ({ asideDays, asideMib }: AsideConfig): LeftoverLimit => ({
  maxAgeMs: asideDays * 86_400_000,
  maxBytes: asideMib * 2 ** 20,
});
