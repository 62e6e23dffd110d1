import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { asideLimitOf } from '../../shared/config/aside.ts';
import { TrainerConfig, threadsOf } from '../../shared/config/trainer.ts';
import { fetchingInService } from '../../shared/hub/fetching-in-service.ts';
import { findModel } from '../../shared/hub/find-model.ts';
import { headFold } from '../../shared/lineage/head-fold.ts';
import { serverMismatch, trainingMismatch } from '../../shared/lineage/training-mismatch.ts';
import { modelDigest } from '../../shared/policy/model/model-digest.ts';
import { refuseForeignHosts, registerHealth } from '../../shared/runtime/health.ts';
import { openCheckpoints } from '../../shared/runtime/open-checkpoints.ts';
import { openQueue } from '../../shared/runtime/open-queue.ts';
import { openService } from '../../shared/runtime/open-service.ts';
import { Refusal } from '../../shared/runtime/refusal.ts';
import { createFoldMetrics, watchFolds } from '../../shared/runtime/watch-folds.ts';
import type { ServerUsage } from '../../shared/tinker/training-server.ts';
import { createBatchWait } from './batch-wait.ts';
import { checkCheckpoints, moveIntoBucket } from './check-checkpoints.ts';
import { claimTraining } from './claim-training.ts';
import { createTrainerMetrics, watchBatches, watchServerTokens } from './metrics.ts';
import { openServerRunner } from './remote/open-server-runner.ts';
import { openStepRunner } from './step-runner.ts';
import { createTrainer, type WakeUp } from './trainer.ts';
import { whenReachable } from './when-reachable.ts';

/**
 * Trains the open batch of each adapter: one at a time in this process, several on a training server. A job is queued when its batch opens, so the next batch
 * of an adapter comes after the waiting batches of the others. A job is only a wake-up; the head's committed
 * rows say which batch is owed.
 */

const GROUP = 'trainer';

const service = await openService('trainer', TrainerConfig);
const { config, log, data, logger, place, shutdown } = service;
const checkpoints = openCheckpoints(config, data);
const metrics = createTrainerMetrics(service.metrics);
const watch = watchFolds({
  log,
  place,
  logger,
  signal: shutdown,
  folds: [{ group: GROUP, reads: headFold.reads }],
  metrics: createFoldMetrics(service.metrics),
});
const wait = createBatchWait({ log, logger, signal: shutdown });
let openBatches = () => 0;
let waitingReason: () => string | undefined = () => undefined;
watchBatches(service.metrics, () => openBatches(), wait.seconds);
let serverUsage: () => ServerUsage | undefined = () => undefined;
watchServerTokens(service.metrics, () => serverUsage());
/** Rejects when another host has taken over; the next start stands by. */
const overtaken = Promise.withResolvers<never>();
let missing: string | undefined = 'the model is still loading';

const retries = {
  attempts: Number.MAX_SAFE_INTEGER, // strikes abandon a batch that cannot be trained; an unavailable log recovers
  backoffMs: 500,
  maxBackoffMs: 30_000,
  jitter: 0.3,
  timeLimitMs: config.stepTimeLimitMs,
};
const isLocal = config.trainingEngine === 'local';
const concurrency = isLocal ? 1 : config.trainingParallel;
const queue = await openQueue<WakeUp>(config, 'batches', retries, logger);

const server = fastify({ logger: false });
refuseForeignHosts(server, config.healthHost);
registerHealth(
  server,
  () => missing ?? waitingReason() ?? watch.missing() ?? queue.missing(),
  service.metrics,
  {
    logger,
  },
);
await queue.mountBoard(server);
await server.listen({ host: config.healthHost, port: config.healthPort });
const { port } = server.server.address() as AddressInfo;
logger.info({ port }, 'health port open');

/** Every adapter with an open batch is trained, even if no setting names it. */
async function checkStores(): Promise<void> {
  for (const name of await checkpoints.adapters()) {
    await checkCheckpoints(checkpoints.localOf(name), log.logId);
    if (checkpoints.kind === 'folder') continue;
    await checkCheckpoints(checkpoints.storeOf(name), log.logId);
    await moveIntoBucket(checkpoints.localOf(name), checkpoints.storeOf(name));
  }
  for (const adapter of config.adapters) {
    const store = checkpoints.storeOf(adapter);
    const mismatch = await trainingMismatch(log, store, { adapter, training: config.training });
    if (mismatch !== undefined) throw new Refusal(mismatch);
    const foreign = isLocal ? undefined : await serverMismatch(log, store, adapter);
    if (foreign !== undefined) throw new Refusal(foreign);
  }
}

async function work(): Promise<void> {
  const onWaiting = (reason: string) => {
    missing = `waiting for the checkpoints: ${reason}`;
  };
  await whenReachable(checkStores, { logger, onWaiting, signal: shutdown });
  const folder = await findModel(config, fetchingInService(logger, shutdown));
  const base = { model: config.model, folder, digest: await modelDigest(folder) };
  const runner = isLocal ? openLocalRunner(folder) : await openServer(folder);
  const { report, fingerprint } = await runner.open();
  logger.info({ report, fingerprint, model: base.model, baseDigest: base.digest }, 'ready to train');
  const trainer = createTrainer({
    log,
    runner,
    base,
    findModel: (model, signal) =>
      findModel({ ...config, model }, fetchingInService(logger, AbortSignal.any([signal, shutdown]))),
    storeOf: checkpoints.storeOf,
    metrics,
    logger,
    keep: config.keep,
    aside: asideLimitOf(config),
    maxStrikes: config.maxStrikes,
    wait,
  });
  openBatches = trainer.openBatches;
  waitingReason = trainer.missing;
  missing = undefined;
  try {
    await Promise.all([
      log.process(
        headFold,
        {
          group: GROUP,
          settings: undefined,
          owedIntervalMs: config.owedIntervalMs,
          owed: (subjects) => void queue.add(trainer.owed(subjects)),
        },
        shutdown,
      ),
      queue.work((job, signal) => trainer.wakeUp(job.data, signal), { concurrency }, shutdown),
    ]);
  } finally {
    await runner.close();
  }
}

const openLocalRunner = (modelFolder: string) =>
  openStepRunner({
    modelFolder,
    backend: config.backend,
    training: config.training,
    threads: threadsOf(config),
    niceness: config.niceness,
  });

async function openServer(modelFolder: string) {
  const runner = await openServerRunner(config, {
    modelFolder,
    usedTokens: data.usedTokens,
    logger,
    onWaiting: (reason) => {
      missing = `waiting for the training server: ${reason}`;
    },
    signal: shutdown,
  });
  serverUsage = runner.usage;
  return runner;
}

/** Works once no other trainer does. */
async function workWhenClaimed(): Promise<void> {
  const claim = await claimTraining({
    config,
    data,
    logId: log.logId,
    onStandby: (reason) => {
      missing = reason;
      logger.warn({ lock: data.trainerClaim }, reason);
    },
    signal: shutdown,
  });
  if (claim === undefined) return;
  claim.lost.catch(overtaken.reject);
  try {
    missing = 'the model is still loading';
    await work();
  } finally {
    await claim.release();
  }
}

await service.run(
  [workWhenClaimed()],
  [checkpoints.close, () => server.close(), queue.close],
  [queue.refused, overtaken.promise],
);
