import { z } from 'zod';
import type { EventLog } from '../../shared/log/event-log.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';

/** The settings of the fold `submit` that the page shows; decided in services/collector/fold-settings.ts. */
const CheckSettings = z.object({
  /** absent: verdicts roll nothing back */
  watch: z.object({ alpha: z.number(), margin: z.number(), pauseAfter: z.number() }).optional(),
  canary: z
    .object({ alpha: z.number(), margin: z.number(), turns: z.number(), hours: z.number() })
    .optional(),
  training: z.object({ canaryShare: z.number().default(0) }),
});
export type CheckSettings = z.output<typeof CheckSettings>;

/** ms; they change when the collector starts, and on Kafka their query reads a topic */
const FRESH_MS = 60_000;

/** Reads the settings in force for a partition of `training`, at most once a minute. */
export function createCheckSettings(log: Pick<EventLog, 'stretches'>, now: () => number = monotonicNow) {
  let read: { readonly at: number; readonly stretches: ReturnType<EventLog['stretches']> } | undefined;
  /** null: no batch was decided about yet, or the log does not answer */
  return async (partition: number): Promise<CheckSettings | null> => {
    if (read === undefined || now() - read.at > FRESH_MS)
      read = { at: now(), stretches: log.stretches('submit') };
    const stretches = await read.stretches.catch(() => {
      read = undefined;
      return [];
    });
    if (stretches.length === 0) read = undefined;
    const last = stretches.findLast((stretch) => stretch.partition === partition);
    return CheckSettings.safeParse(last?.settings).data ?? null;
  };
}
