import { pause } from '../../shared/lang/async.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { trimLog } from '../../shared/retention/trim-log.ts';

type Options = {
  readonly log: EventLog;
  readonly keep: string;
  readonly keepBytes: string;
  readonly trimMs: number;
  readonly logger: {
    readonly info: (fields: object, text: string) => void;
    readonly warn: (fields: object, text: string) => void;
  };
  readonly signal: AbortSignal;
};

/** ms after the start of the first trim: a service that restarts often trims too, but folds go first. */
const FIRST_MS = 60_000;

/** Removes old records now and then. Several collectors may do so: a trim only moves forward. */
export async function trimRepeatedly({
  log,
  keep,
  keepBytes,
  trimMs,
  logger,
  signal,
}: Options): Promise<void> {
  for (let waitMs = Math.min(FIRST_MS, trimMs); ; waitMs = trimMs) {
    await pause(waitMs, signal);
    if (signal.aborted) return;
    try {
      const cuts = await trimLog(log, { keep, keepBytes, now: Date.now(), source: 'clawloop/collector' });
      for (const { topic, partition, from, place, heldBy } of cuts) {
        const on = { topic, partition, from };
        if (place !== undefined)
          logger.info({ ...on, to: place.offset, bytes: place.bytes }, 'removed old records');
        if (heldBy !== undefined)
          logger.info({ ...on, reason: heldBy }, 'older records than the limit are still needed');
      }
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'could not remove old records; will retry');
    }
  }
}
