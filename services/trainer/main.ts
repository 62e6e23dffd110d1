import { readdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { fastify } from 'fastify';
import { fetchingInService } from '../../shared/hub/fetching-in-service.ts';
import { findModel } from '../../shared/hub/find-model.ts';
import { headFold } from '../../shared/lineage/head-fold.ts';
import { trainingMismatch } from '../../shared/lineage/training-mismatch.ts';
import { modelDigest } from '../../shared/policy/model-digest.ts';
import { claimFileInTurn } from '../../shared/service/claim.ts';
import { refuseForeignHosts, registerHealth } from '../../shared/service/health.ts';
import { makeFolder } from '../../shared/service/make-folder.ts';
import { openQueue } from '../../shared/service/open-queue.ts';
import { openService } from '../../shared/service/open-service.ts';
import { Refusal } from '../../shared/service/refusal.ts';
import { createFoldMetrics, watchFolds } from '../../shared/service/watch-folds.ts';
import { createBatchWait } from './batch-wait.ts';
import { checkCheckpoints } from './check-checkpoints.ts';
import { TrainerConfig, threadsOf } from './config.ts';
import { createTrainerMetrics, watchBatches } from './metrics.ts';
import { openStepRunner } from './step-runner.ts';
import { createTrainer, type WakeUp } from './trainer.ts';

/**
 * Trains the open batch of each adapter, one at a time: a job is queued when its batch opens, so that the next
 * batch of an adapter comes after those of the others that wait. The queue only wakes it up; what is owed is
 * in the head's committed rows.
 */

const GROUP = 'trainer';

const service = await openService('trainer', TrainerConfig);
const { config, log, data, logger, place, shutdown } = service;
const metrics = createTrainerMetrics(service.metrics);
const watch = watchFolds({
  ...{ log, place, logger, signal: shutdown },
  folds: [{ group: GROUP, reads: headFold.reads }],
  metrics: createFoldMetrics(service.metrics),
});
const wait = createBatchWait({ log, logger, signal: shutdown });
let openBatches = () => 0;
let waitsFor: () => string | undefined = () => undefined;
watchBatches(service.metrics, () => openBatches(), wait.seconds);
let missing: string | undefined = 'the model is not loaded yet';

const retries = {
  attempts: Number.MAX_SAFE_INTEGER, // strikes end what cannot be trained; a log that is away comes back
  backoffMs: 500,
  maxBackoffMs: 30_000,
  jitter: 0.3,
  timeLimitMs: config.stepTimeLimitMs,
};
const queue = await openQueue<WakeUp>(config, 'batches', retries, logger);

const server = fastify({ logger: false });
refuseForeignHosts(server, config.healthHost);
registerHealth(server, () => missing ?? waitsFor() ?? watch.missing() ?? queue.missing(), service.metrics, {
  logger,
});
await queue.mountBoard(server);
await server.listen({ host: config.healthHost, port: config.healthPort });
const { port } = server.server.address() as AddressInfo;
logger.info({ port }, 'health port');

async function work(): Promise<void> {
  // whatever has an open batch is trained, also what no setting names
  const stored = await readdir(dirname(data.trainerClaim), { withFileTypes: true });
  for (const { name } of stored.filter((entry) => entry.isDirectory()))
    await checkCheckpoints(data.checkpoints(name), log.logId);
  for (const adapter of config.adapters) {
    const store = data.checkpoints(adapter);
    const mismatch = await trainingMismatch(log, store, { adapter, training: config.training });
    if (mismatch !== undefined) throw new Refusal(mismatch);
  }
  const folder = await findModel(config, fetchingInService(logger, shutdown));
  const base = { model: config.model, folder, digest: await modelDigest(folder) };
  const runner = openStepRunner({
    modelFolder: folder,
    backend: config.backend,
    training: config.training,
    threads: threadsOf(config),
    niceness: config.niceness,
  });
  const { report, fingerprint } = await runner.open();
  logger.info({ report, fingerprint, model: base.model, baseDigest: base.digest }, 'ready to train');
  const trainer = createTrainer({
    log,
    runner,
    base,
    findModel: (model, signal) =>
      findModel({ ...config, model }, fetchingInService(logger, AbortSignal.any([signal, shutdown]))),
    storeOf: data.checkpoints,
    metrics,
    logger,
    keep: config.keep,
    maxStrikes: config.maxStrikes,
    wait,
  });
  openBatches = trainer.openBatches;
  waitsFor = trainer.missing;
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
      queue.work((job, signal) => trainer.wakeUp(job.data, signal), { concurrency: 1 }, shutdown),
    ]);
  } finally {
    await runner.close();
  }
}

/**
 * One job wakes up one trainer, and of two the one without the batch would end the job: the second stands by.
 */
async function workInTurn(): Promise<void> {
  await makeFolder(dirname(data.trainerClaim));
  const claim = await claimFileInTurn(data.trainerClaim, standBy, shutdown);
  if (claim === undefined) return;
  try {
    missing = 'the model is not loaded yet';
    await work();
  } finally {
    claim.release();
  }
}

function standBy(): void {
  missing = 'another trainer works on these checkpoints; this one stands by and takes over when it ends';
  logger.warn({ lock: data.trainerClaim }, missing);
}

await service.run([workInTurn()], [() => server.close(), queue.close], [queue.refused]);
