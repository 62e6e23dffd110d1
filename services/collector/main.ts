import { setInterval } from 'node:timers/promises';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { WishSetAside } from '../../shared/events/wish-set-aside.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { unmeasuredNote } from '../../shared/policy/training-defaults.ts';
import { monotonicNow, utcNow } from '../../shared/service/clock.ts';
import { openHealthPort } from '../../shared/service/health.ts';
import { watchObligations } from '../../shared/service/metrics.ts';
import { openService } from '../../shared/service/open-service.ts';
import { createFoldMetrics, watchFolds } from '../../shared/service/watch-folds.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import { assembleSettings, attributeSettings, CollectorConfig, submitSettings, waitOf } from './config.ts';
import { createCollectorMetrics } from './metrics.ts';
import { eligibleSamples, submit } from './submit.ts';
import { openSessions, restedLanes, waitingBatches } from './sweep-candidates.ts';
import { createSweeper, type Sweeper } from './sweeper.ts';

/** Three folds, each in a group of its own, and the timers over their rows. */

/** ms that a lane is seen at rest before it may be forgotten: it is not lost to a jump of the clock */
const REST_MS = 3_600_000;

const service = await openService('collector', CollectorConfig);
const { config, log, logger, place, shutdown } = service;
const metrics = createCollectorMetrics(service.metrics);
const folds = [attribute, assemble, submit].map(({ name, reads }) => ({ group: name, reads }));
const watch = watchFolds({
  ...{ log, place, folds, logger, signal: shutdown },
  metrics: createFoldMetrics(service.metrics),
});
const eligible = new Map<string, number>();
watchObligations(service.metrics, { samples: () => sum(eligible.values()) });
const health = await openHealthPort(
  { host: config.healthHost, port: config.healthPort },
  watch.missing,
  service.metrics,
  { logger },
);
logger.info({ port: health.port }, 'health port');
const unmeasured = unmeasuredNote(config.model);
if (unmeasured !== undefined) logger.info({ model: config.model }, unmeasured);

const { owedIntervalMs } = config;
const timer = {
  staleAfterMs: 3 * owedIntervalMs,
  append: log.append,
  now: monotonicNow,
  time: utcNow,
};
const idle = createSweeper({
  ...timer,
  candidates: openSessions('votes'),
  spanMs: config.idleMs,
});
const timedOut = createSweeper({
  ...timer,
  candidates: openSessions('reward'),
  spanMs: 1000 * config.sessionTimeout,
});
const rested = createSweeper({ ...timer, candidates: restedLanes, spanMs: REST_MS });
const waitMs = waitOf(config);
const waited = createSweeper({
  ...timer,
  candidates: waitMs === undefined ? () => [] : waitingBatches,
  spanMs: waitMs ?? Number.POSITIVE_INFINITY,
});

const emitted = (events: readonly ClawLoopEvent[]): void => {
  metrics.count(events);
  for (const event of events) {
    if (event.type === 'wish.set-aside')
      logger.info(wishFields(event.data), 'a wish is set aside: the model does not learn it');
    if (event.type === 'wish.taken-up')
      logger.info({ ...wishFields(event.data), why: event.data.why }, 'a wish is taken up again');
  }
};
const wishFields = ({ adapter, wish, corrections, good }: WishSetAside['data']) => ({
  ...{ adapter, wish, corrections, good },
});

type Owed = Sweeper['owed'];
const fold = <Settings>(one: Fold<Settings>, settings: Settings, ...lookers: readonly Owed[]) => {
  const owed: Owed = (views) => {
    for (const look of lookers) look(views);
  };
  const options = { group: one.name, settings, owedIntervalMs, owed, emitted };
  return log.process(one, options, shutdown);
};
const watchEligible: Owed = (views) => {
  for (const { subject, rows } of views) eligible.set(subject, eligibleSamples(rows));
};

async function sweep(): Promise<void> {
  for await (const _ of every(config.sweepMs))
    for (const [name, sweeper] of Object.entries({ idle, 'session-timeout': timedOut, rested, waited })) {
      try {
        metrics.swept.inc({ timer: name }, await sweeper.sweep());
      } catch (error) {
        logger.warn({ err: error, timer: name }, 'what has run out could not be told; it is told later');
      }
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
  fold(attribute, attributeSettings(config), idle.owed, timedOut.owed, rested.owed),
  fold(assemble, assembleSettings(config)),
  fold(submit, submitSettings(config), waited.owed, watchEligible),
  sweep(),
];
await service.run(works, [health.close]);

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((before, one) => before + one, 0);
}
