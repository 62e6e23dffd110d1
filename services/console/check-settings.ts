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

type Stretches = Awaited<ReturnType<EventLog['stretches']>>;

/** Reads the settings in force for a partition of `training`, at most once a minute, and not while the log is away. */
export function createCheckSettings(
  log: Pick<EventLog, 'stretches'>,
  isAway: () => boolean,
  now: () => number = monotonicNow,
) {
  let known: Stretches = [];
  let reading: { readonly at: number; readonly done: Promise<void> } | undefined;
  const read = async (): Promise<void> => {
    // without an answer the known ones stay, and the next page asks again
    known = await log.stretches('submit').catch(() => known);
    if (known.length === 0) reading = undefined;
  };
  /** null: no batch was decided about yet, or the log does not answer */
  return async (partition: number): Promise<CheckSettings | null> => {
    if (!isAway()) {
      if (reading === undefined || now() - reading.at > FRESH_MS) reading = { at: now(), done: read() };
      await reading.done;
    }
    const last = known.findLast((stretch) => stretch.partition === partition);
    return CheckSettings.safeParse(last?.settings).data ?? null;
  };
}
