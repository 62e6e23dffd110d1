import { CollectorConfig } from '../../shared/config/collector.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { WishSetAside } from '../../shared/events/wish-set-aside.ts';
import { every } from '../../shared/lang/async.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { unmeasuredNote } from '../../shared/policy/train/training-defaults.ts';
import { monotonicNow, utcNow } from '../../shared/runtime/clock.ts';
import { openHealthPort } from '../../shared/runtime/health.ts';
import { watchObligations } from '../../shared/runtime/metrics.ts';
import { openService } from '../../shared/runtime/open-service.ts';
import { Refusal } from '../../shared/runtime/refusal.ts';
import { createFoldMetrics, watchFolds } from '../../shared/runtime/watch-folds.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import { canaryFallback } from './canary.ts';
import { createCollectorMetrics } from './metrics.ts';
import { returnedSamples } from './returned-batches.ts';
import {
  assembleSettings,
  attributeSettings,
  fullBatchWaitMs,
  serverRefusal,
  submitSettings,
} from './settings.ts';
import { eligibleSamples, submit } from './submit.ts';
import { inactiveLanes, longCanaries, openSessions, waitingBatches } from './sweep-candidates.ts';
import { createSweeper, type Sweeper } from './sweeper.ts';
import { trimRepeatedly } from './trimming.ts';
import { addVerdictMetrics } from './verdict-metrics.ts';

/** Runs three folds, each in its own consumer group, and the timers over their rows. */

/**
 * ms for which a lane must be observed inactive before it is forgotten, so that a clock jump forgets nothing
 */
const REST_MS = 3_600_000;
/** ms between two looks at the time of a canary */
const CANARY_MS = 60_000;

const service = await openService('collector', CollectorConfig);
const { config, log, logger, place, shutdown } = service;
const refusal = serverRefusal(config);
if (refusal !== undefined) throw new Refusal(refusal);
const metrics = createCollectorMetrics(service.metrics);
const folds = [attribute, assemble, submit].map(({ name, reads }) => ({ group: name, reads }));
const watch = watchFolds({
  log,
  place,
  folds,
  logger,
  signal: shutdown,
  metrics: createFoldMetrics(service.metrics),
});
const verdictFigures = addVerdictMetrics(service.metrics, submitSettings(config));
const eligible = new Map<string, number>();
watchObligations(service.metrics, { samples: () => sum(eligible.values()) });
const health = await openHealthPort(
  { host: config.healthHost, port: config.healthPort },
  watch.missing,
  service.metrics,
  { logger },
);
logger.info({ port: health.port }, 'health port open');
const unmeasured = unmeasuredNote(config.model);
if (unmeasured !== undefined) logger.info({ model: config.model }, unmeasured);

const { owedIntervalMs } = config;
const timer = {
  staleAfterMs: 3 * owedIntervalMs,
  append: log.append,
  now: monotonicNow,
  time: utcNow,
};
const idleSessions = createSweeper({
  ...timer,
  candidates: openSessions('votes'),
  spanMs: config.idleMs,
});
const sessionTimeout = createSweeper({
  ...timer,
  candidates: openSessions('reward'),
  spanMs: 1000 * config.sessionTimeout,
});
const laneForgetting = createSweeper({ ...timer, candidates: inactiveLanes, spanMs: REST_MS });
const waitMs = fullBatchWaitMs(config);
const fullBatchWait = createSweeper({
  ...timer,
  candidates: waitMs === undefined ? () => [] : waitingBatches,
  spanMs: waitMs ?? Number.POSITIVE_INFINITY,
});

const canaryTime = createSweeper({
  ...timer,
  candidates: longCanaries((submitSettings(config).canary ?? canaryFallback).hours),
  spanMs: CANARY_MS,
});

const onEmitted = (events: readonly ClawLoopEvent[]): void => {
  metrics.count(events);
  for (const event of events) {
    if (event.type === 'wish.set-aside')
      logger.info(wishFields(event.data), 'wish set aside: the model is not learning it');
    if (event.type === 'wish.taken-up')
      logger.info({ ...wishFields(event.data), why: event.data.why }, 'wish taken up again');
    if (event.type === 'policy.rolled-back') {
      const { adapter, from, to, turnId, reason, figures } = event.data;
      logger.warn(
        { adapter, from, to, turn: turnId, reason, ...figures },
        'version rolled back by its verdicts',
      );
    }
    if (event.type === 'policy.promoted' || event.type === 'policy.rejected') {
      const { adapter, batchId, figures } = event.data;
      const why = event.type === 'policy.promoted' ? event.data.reason : event.data.detail;
      logger.info(
        { adapter, batch: batchId, reason: why, ...figures },
        event.type === 'policy.promoted' ? 'canary promoted' : 'canary rejected',
      );
    }
    if (event.type === 'learning.paused')
      logger.warn(
        { adapter: event.data.adapter, reason: event.data.reason },
        'learning paused; `clawloop learning resume` continues it',
      );
  }
};
const wishFields = ({ adapter, wish, corrections, good }: WishSetAside['data']) => ({
  adapter,
  wish,
  corrections,
  good,
});

type OwedListener = Sweeper['owed'];
const fold = <Settings>(
  definition: Fold<Settings>,
  settings: Settings,
  ...listeners: readonly OwedListener[]
) => {
  const owed: OwedListener = (views) => {
    for (const listener of listeners) listener(views);
  };
  const options = { group: definition.name, settings, owedIntervalMs, owed, emitted: onEmitted };
  return log.process(definition, options, shutdown);
};
const watchEligible: OwedListener = (views) => {
  for (const { subject, rows } of views) eligible.set(subject, eligibleSamples(rows) + returnedSamples(rows));
};

async function sweep(): Promise<void> {
  const sweepers = {
    idle: idleSessions,
    'session-timeout': sessionTimeout,
    rested: laneForgetting,
    waited: fullBatchWait,
    canary: canaryTime,
  };
  for (const [name, sweeper] of Object.entries(sweepers)) {
    try {
      metrics.swept.inc({ timer: name }, await sweeper.sweep());
    } catch (error) {
      logger.warn({ err: error, timer: name }, 'could not append expiry events; will retry');
    }
  }
}

const tasks = [
  fold(attribute, attributeSettings(config), idleSessions.owed, sessionTimeout.owed, laneForgetting.owed),
  fold(assemble, assembleSettings(config)),
  fold(submit, submitSettings(config), fullBatchWait.owed, canaryTime.owed, watchEligible, verdictFigures),
  every(config.sweepMs, sweep, shutdown),
  ...(config.keep === '' && config.keepBytes === ''
    ? []
    : [trimRepeatedly({ ...config, log, logger, signal: shutdown })]),
];
await service.run(tasks, [health.close]);
