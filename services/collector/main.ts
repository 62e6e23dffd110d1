import { setInterval } from 'node:timers/promises';
import type { Fold } from '../../shared/log/fold.ts';
import { monotonicNow, utcNow } from '../../shared/service/clock.ts';
import { openHealthPort } from '../../shared/service/health.ts';
import { openService } from '../../shared/service/open-service.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import { CollectorConfig, submitSettings } from './config.ts';
import { createCollectorMetrics } from './metrics.ts';
import { submit } from './submit.ts';
import { idleSessions, restedLanes, waitingBatches } from './sweep-candidates.ts';
import { createSweeper, type Sweeper } from './sweeper.ts';

/** Three folds, each in a group of its own, and the timers over their rows. */

/** ms that a lane is seen at rest before it may be forgotten: it is not lost to a jump of the clock */
const REST_MS = 3_600_000;
/** ms between looks at how far the folds are behind */
const LAG_MS = 2_000;

const service = await openService('collector', CollectorConfig);
const { config, log, logger, shutdown } = service;
const metrics = createCollectorMetrics(service.metrics);
let missing: string | undefined = 'the folds have not begun yet';
const health = await openHealthPort(
  { host: config.healthHost, port: config.healthPort },
  () => missing,
  service.metrics,
);
logger.info({ port: health.port }, 'health port');

const { owedIntervalMs } = config;
const timer = {
  staleAfterMs: 3 * owedIntervalMs,
  append: log.append,
  now: monotonicNow,
  time: utcNow,
};
const idle = createSweeper({ ...timer, candidates: idleSessions, spanMs: config.idleMs });
const rested = createSweeper({ ...timer, candidates: restedLanes, spanMs: REST_MS });
const waited = createSweeper({
  ...timer,
  candidates: config.waitedMs === undefined ? () => [] : waitingBatches,
  spanMs: config.waitedMs ?? Number.POSITIVE_INFINITY,
});

const fold = <Settings>(one: Fold<Settings>, settings: Settings, ...sweepers: readonly Sweeper[]) => {
  const owed: Sweeper['owed'] = (views) => {
    for (const sweeper of sweepers) sweeper.owed(views);
  };
  return log.process(one, { group: one.name, settings, owedIntervalMs, owed }, shutdown);
};

async function sweep(): Promise<void> {
  for await (const _ of every(config.sweepMs))
    for (const [name, sweeper] of Object.entries({ idle, rested, waited })) {
      try {
        metrics.swept.inc({ timer: name }, await sweeper.sweep());
      } catch (error) {
        logger.warn({ err: error, timer: name }, 'what has run out could not be told; it is told later');
      }
    }
}

/**
 * Also tells whether a partition has stopped at a record of a newer version: then the collector is not ready.
 */
async function watchLag(): Promise<void> {
  for await (const _ of every(LAG_MS)) {
    const groups = [attribute.name, assemble.name, submit.name];
    const lags = await Promise.all(groups.map((group) => log.lag(group).catch(() => [])));
    for (const [index, lag] of lags.entries())
      metrics.lag.set(
        { fold: groups[index]! },
        lag.reduce((sum, { position, end }) => sum + end - position, 0),
      );
    const stopped = lags.flat().find((one) => one.stopped !== undefined);
    missing = stopped && `partition ${stopped.partition} of ${stopped.topic} has stopped: ${stopped.stopped}`;
  }
}

async function* every(milliseconds: number) {
  try {
    yield* setInterval(milliseconds, undefined, { signal: shutdown });
  } catch (error) {
    if (!shutdown.aborted) throw error;
  }
}

const works = [
  fold(attribute, undefined, idle, rested),
  fold(assemble, { atLeastOne: config.atLeastOne }),
  fold(submit, submitSettings(config), waited),
  sweep(),
  watchLag(),
];
missing = undefined;
await service.run(works, [health.close]);
