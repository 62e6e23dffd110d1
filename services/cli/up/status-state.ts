import { z } from 'zod';
import { returnedState } from '../../../shared/views/returned-turns.ts';

const ids = z.object({ count: z.int(), recent: z.array(z.string()).readonly() });

/** The counters of the live line, as they are stored. */
export const statusState = z.object({
  interactions: ids,
  turns: ids,
  skipped: ids,
  verdicts: z.object({
    good: z.int(),
    bad: z.int(),
    neither: z.int(),
    unavailable: z.int(),
    recent: z.array(z.tuple([z.string(), z.number().nullable()])),
  }),
  adapters: z.record(
    z.string(),
    z.object({
      eligible: z.array(z.string()),
      returned: returnedState.default([]),
      settled: z.array(z.string()),
      openBatch: z.string().optional(),
      onCanary: z.string().optional(),
      paused: z.boolean(),
      served: z.int(),
    }),
  ),
});
export type StatusState = z.output<typeof statusState>;
