import { Gauge, type Registry } from 'prom-client';
import type { Topic } from '../events/define-event.ts';
import { sum } from '../lang/numbers.ts';
import type { EventLog, GroupLag } from '../log/event-log.ts';
import type { Logger } from './logger.ts';
import { createWaitNotice } from './wait-notice.ts';
import { createLogWait, watchLog } from './watch-log.ts';

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
  logWait: createLogWait(registry),
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
  };
  const timer = setInterval(reportTroubles, lookMs);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  const watch = watchLog({ look, place, wait: metrics.logWait, logger, signal, lookMs });
  return {
    missing: () => {
      const [trouble] = troubles();
      return watch.missing() ?? stopped ?? (trouble && `a fold cannot continue: ${trouble}`);
    },
  };
}

const left = ({ position, end }: GroupLag): number => end - position;
