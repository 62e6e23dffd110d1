import { Gauge, type Registry } from 'prom-client';
import type { Topic } from '../events/define-event.ts';
import { sum } from '../lang/numbers.ts';
import type { EventLog, GroupLag } from '../log/event-log.ts';
import { monotonicNow } from './clock.ts';
import type { Logger } from './logger.ts';
import { createWaitNotice } from './wait-notice.ts';

/** A consumer group and the topic that its fold reads. */
type WatchedFold = { readonly group: string; readonly reads: Topic };

type FoldMetrics = ReturnType<typeof createFoldMetrics>;

export const createFoldMetrics = (registry: Registry) => ({
  lag: new Gauge({
    name: 'clawloop_fold_lag_records',
    help: 'records that a fold has not read yet, over all partitions; on Kafka counted in offsets, transaction marks included, and 0 once everything is read',
    labelNames: ['fold'],
    registers: [registry],
  }),
  stopped: new Gauge({
    name: 'clawloop_fold_stopped_partitions',
    help: 'partitions where a fold has stopped, because a newer version wrote there',
    labelNames: ['fold'],
    registers: [registry],
  }),
  logWait: new Gauge({
    name: 'clawloop_log_wait_seconds',
    help: 'seconds since the log stopped answering; 0 while it answers',
    registers: [registry],
  }),
});

type Options = {
  readonly log: Pick<EventLog, 'lag' | 'ends' | 'troubles'>;
  /** where the log is, as text */
  readonly place: string;
  readonly folds: readonly WatchedFold[];
  readonly metrics: FoldMetrics;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** ms between two checks; default 2,000 */
  readonly lookMs?: number;
};

/** ms without an answer after which the log counts as away */
const HANGS_AFTER_MS = 5_000;

export type FoldWatch = {
  /** Why the service is not ready: a fold has stopped or cannot continue, or the log does not answer. */
  readonly missing: () => string | undefined;
};

/** Measures the lag of folds and reports when the log does not answer. */
export function watchFolds({
  log,
  place,
  folds,
  metrics,
  logger,
  signal,
  lookMs = 2_000,
}: Options): FoldWatch {
  let stopped: string | undefined;
  let looked = false;
  const notice = createWaitNotice({
    away: (reason, seconds) => logger.warn({ reason, seconds }, `waiting for ${place}`),
    back: (seconds) => logger.info({ seconds }, `${place} is back`),
  });
  const stuck = createWaitNotice({
    away: (reason, seconds) => logger.warn({ reason, seconds }, 'a fold cannot continue'),
    back: (seconds) => logger.info({ seconds }, 'all folds continue'),
  });
  const troubles = () =>
    folds.flatMap(({ group }) => log.troubles(group).map((trouble) => `${group}, ${trouble}`));
  const reportTroubles = (): void => {
    const current = troubles();
    if (current.length === 0) stuck.back();
    else stuck.away(current.join('; '));
  };
  const look = async (): Promise<void> => {
    try {
      const lags = await Promise.all(folds.map(({ group }) => log.lag(group)));
      for (const [index, { group, reads }] of folds.entries()) {
        const shares = lags[index]!;
        metrics.lag.set(
          { fold: group },
          shares.length === 0 ? sum(await log.ends(reads)) : sum(shares.map(left)),
        );
        metrics.stopped.set({ fold: group }, shares.filter((share) => share.stopped !== undefined).length);
      }
      const halted = lags.flat().find((share) => share.stopped !== undefined);
      stopped = halted && `partition ${halted.partition} of ${halted.topic} has stopped: ${halted.stopped}`;
      looked = true;
      notice.back();
    } catch (error) {
      notice.away((error as Error).message);
    }
    metrics.logWait.set(notice.seconds() ?? 0);
  };
  let began: number | undefined;
  const tick = async (): Promise<void> => {
    reportTroubles();
    if (began === undefined) {
      began = monotonicNow();
      await look();
      began = undefined;
    } else if (monotonicNow() - began > HANGS_AFTER_MS) {
      // one query at a time: a hanging log is not queried again
      notice.away('no answer');
      metrics.logWait.set(notice.seconds() ?? 0);
    }
  };
  const timer = setInterval(() => void tick(), lookMs);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  void tick();
  return {
    missing: () => {
      const seconds = notice.seconds();
      if (seconds !== undefined) return `${place} has not answered for ${seconds} s`;
      if (!looked) return 'the log has not been checked yet';
      const [trouble] = troubles();
      return stopped ?? (trouble && `a fold cannot continue: ${trouble}`);
    },
  };
}

const left = ({ position, end }: GroupLag): number => end - position;
