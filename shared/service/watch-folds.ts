import { Gauge, type Registry } from 'prom-client';
import type { Topic } from '../events/define-event.ts';
import type { EventLog, GroupLag } from '../log/event-log.ts';
import { monotonicNow } from './clock.ts';
import type { Logger } from './logger.ts';
import { createWaitNotice } from './wait-notice.ts';

/** A consumer group and the topic that its fold reads. */
export type WatchedFold = { readonly group: string; readonly reads: Topic };

export type FoldMetrics = ReturnType<typeof createFoldMetrics>;

export const createFoldMetrics = (registry: Registry) => ({
  lag: new Gauge({
    name: 'clawloop_fold_lag_records',
    help:
      'records that a fold has not read yet, all partitions; on Kafka offsets, as its tools count them, where ' +
      'the mark of a transaction is one too, and 0 once nothing is left to read',
    labelNames: ['fold'],
    registers: [registry],
  }),
  stopped: new Gauge({
    name: 'clawloop_fold_stopped_partitions',
    help: 'partitions that a fold reads no further: a newer version wrote there',
    labelNames: ['fold'],
    registers: [registry],
  }),
  logWait: new Gauge({
    name: 'clawloop_log_wait_seconds',
    help: 'for how long the log has not answered; 0 while it does',
    registers: [registry],
  }),
});

type Options = {
  readonly log: Pick<EventLog, 'lag' | 'ends' | 'troubles'>;
  /** where it is, for a person */
  readonly place: string;
  readonly folds: readonly WatchedFold[];
  readonly metrics: FoldMetrics;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** ms between two looks; 2,000 unless told */
  readonly lookMs?: number;
};

/** ms without an answer after which the log counts as away */
const HANGS_AFTER_MS = 5_000;

export type FoldWatch = {
  /** Why the service does not do its work: a fold has stopped or cannot go on, or the log does not answer. */
  readonly missing: () => string | undefined;
};

/** Looks from now on how far the folds are behind, and says when the log does not answer. */
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
    away: (reason, seconds) => logger.warn({ reason, seconds }, 'a fold cannot go on'),
    back: (seconds) => logger.info({ seconds }, 'every fold goes on'),
  });
  const troubles = () => folds.flatMap(({ group }) => log.troubles(group).map((one) => `${group}, ${one}`));
  const lookForTroubles = (): void => {
    const found = troubles();
    if (found.length === 0) stuck.back();
    else stuck.away(found.join('; '));
  };
  const look = async (): Promise<void> => {
    try {
      const lags = await Promise.all(folds.map(({ group }) => log.lag(group)));
      for (const [index, { group, reads }] of folds.entries()) {
        const of = lags[index]!;
        metrics.lag.set(
          { fold: group },
          of.length === 0 ? total(await log.ends(reads)) : total(of.map(left)),
        );
        metrics.stopped.set({ fold: group }, of.filter((one) => one.stopped !== undefined).length);
      }
      const one = lags.flat().find((lag) => lag.stopped !== undefined);
      stopped = one && `partition ${one.partition} of ${one.topic} has stopped: ${one.stopped}`;
      looked = true;
      notice.back();
    } catch (error) {
      notice.away((error as Error).message);
    }
    metrics.logWait.set(notice.seconds() ?? 0);
  };
  let began: number | undefined;
  const tick = async (): Promise<void> => {
    lookForTroubles();
    if (began === undefined) {
      began = monotonicNow();
      await look();
      began = undefined;
    } else if (monotonicNow() - began > HANGS_AFTER_MS) {
      // one question at a time: a log that hangs is not asked again
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
      if (seconds !== undefined) return `${place} does not answer, for ${seconds} s`;
      if (!looked) return 'the log was not looked at yet';
      const [trouble] = troubles();
      return stopped ?? (trouble && `a fold cannot go on: ${trouble}`);
    },
  };
}

const left = ({ position, end }: GroupLag): number => end - position;
const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
