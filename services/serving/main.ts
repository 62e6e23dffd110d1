import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { asideLimitOf } from '../../shared/config/aside.ts';
import { type KeySettings, keyOf } from '../../shared/config/configured-key.ts';
import { ServingConfig } from '../../shared/config/serving.ts';
import { fetchingInService } from '../../shared/hub/fetching-in-service.ts';
import { every, withDeadline } from '../../shared/lang/async.ts';
import { openSnapshots } from '../../shared/log/snapshots/snapshots.ts';
import { defaultTrainingSettings, largestBatch } from '../../shared/policy/train/training-defaults.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import { isLoopback } from '../../shared/runtime/is-loopback.ts';
import { makeFolder } from '../../shared/runtime/make-folder.ts';
import { openCheckpoints } from '../../shared/runtime/open-checkpoints.ts';
import { followKeys } from '../../shared/runtime/open-keys.ts';
import { openService } from '../../shared/runtime/open-service.ts';
import { widerThanPrivate } from '../../shared/runtime/private-folder.ts';
import { isRefusal, REFUSED_EXIT_CODE } from '../../shared/runtime/refusal.ts';
import { serverEnds } from './answer/answer.ts';
import { createAnswerIds } from './answer/answer-ids.ts';
import { createCacheSalts } from './answer/cache-salt.ts';
import { openAnswers } from './answer/open-answers.ts';
import { openOutbox } from './answer/outbox.ts';
import { createRecorder } from './answer/recorder.ts';
import type { ApiDeps } from './api/api-deps.ts';
import { registerRoutes } from './api/routes.ts';
import { openCheckpointCache } from './engine/checkpoint-cache.ts';
import { fetchingEngine } from './engine/fetching-engine.ts';
import { openEngine } from './engine/open-engine.ts';
import { onlyBase } from './heads/head-view.ts';
import { serveCanary } from './heads/serve-canary.ts';
import { serveHead } from './heads/serve-head.ts';
import { serveHeads } from './heads/serve-heads.ts';
import { openAccess } from './http/access.ts';
import { createKeyQuota } from './http/key-quota.ts';
import { createPerKeyLimit } from './http/per-key-limit.ts';
import { closeServer, createServer } from './http/server.ts';
import { createLeftovers } from './leftovers.ts';
import { addGauges, createServingMetrics } from './metrics.ts';
import { openLeases } from './sessions/leases.ts';
import { fingerprintOf, openSessionSecret } from './sessions/session-secret.ts';
import { openSessions } from './sessions/sessions.ts';
import { openStepVotes } from './sessions/step-votes.ts';
import { openViews } from './views/open-views.ts';

const DRAIN_INTERVAL_MS = 500;
const SWEEP_INTERVAL_MS = 3_600_000;
const LEASE_SWEEP_INTERVAL_MS = 1_000;
const LOAD_RETRY_MS = 2_000;
/** ms between two looks for leftovers: copies of adapters that are in use are marked as often */
const TIDY_INTERVAL_MS = 3_600_000;
/** ms to empty the outbox on exit */
const RECORDER_LIMIT_MS = 500;

/** Logs the reason and exits; the exit code tells a supervisor whether a restart can help. */
function refuse(reason: string, code = REFUSED_EXIT_CODE): never {
  logger.fatal({ reason }, 'cannot continue; exiting');
  process.stderr.write(`clawloop serving: ${reason}\n`);
  process.exit(code);
}

const {
  config,
  logger,
  log,
  data,
  metrics: registry,
  shutdown,
  isOrphan,
  run,
} = await openService('serving', ServingConfig);
await makeFolder(data.root); // for keys and outbox, even if the log is elsewhere
const wide = await widerThanPrivate(data.root);
if (wide !== undefined) logger.warn({ advice: wide.advice }, `${wide.what}; ${wide.advice}`);
/** Refuses an unusable key file like any other invalid setting. */
function keyFrom(settings: KeySettings): string | undefined {
  try {
    return keyOf(settings);
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const metrics = createServingMetrics(registry);
const loopback = isLoopback(config.host);
const sessionSecret = await openSessionSecret(data.sessionSecret, config.sessionSecret).catch(
  (error: Error) => refuse(error.message),
);
const keys = await followKeys(config, data, {
  logger,
  signal: shutdown,
  fingerprint: fingerprintOf(sessionSecret, log.logId),
}).catch((error: Error) => refuse(error.message, isRefusal(error) ? REFUSED_EXIT_CODE : 1));
const access = openAccess({
  keys,
  configured: keyFrom(config),
  always: !loopback,
  sessionSecret,
});
const hasKey = await access.hasKey().catch((error: Error) => refuse(error.message));
if (!loopback && !hasKey) {
  refuse(
    `refusing to listen on ${config.host} without an access key: create one with \`clawloop keys create NAME\`, ` +
      'or set CLAWLOOP_SERVING_API_KEY',
  );
}
const recorder = createRecorder({
  log,
  outbox: await openOutbox(data.outbox, config.outboxMib * 2 ** 20),
  appendTimeoutMs: config.appendTimeoutMs,
  drainIntervalMs: DRAIN_INTERVAL_MS,
  logger,
  onOutcome: (to) => metrics.recorded.inc({ to }),
});
await recorder.drain();
const answers = await openAnswers(config, { folder: data.answers, secret: sessionSecret, logger }).catch(
  (error: Error) => refuse(error.message, isRefusal(error) ? REFUSED_EXIT_CODE : 1),
);
await answers.sweep();
setInterval(() => void answers.sweep(), SWEEP_INTERVAL_MS).unref();

const checkpoints = openCheckpoints(config, data);
const cache =
  checkpoints.kind === 'bucket'
    ? openCheckpointCache({ adapters: config.adapters, storeOf: checkpoints.storeOf, logger })
    : undefined;
const plainEngine = await openEngine(config, { ...fetchingInService(logger, shutdown), logger }).catch(
  (error: Error) => refuse(error.message, isRefusal(error) ? REFUSED_EXIT_CODE : 1),
);
const engine = cache === undefined ? plainEngine : fetchingEngine(plainEngine, cache);
logger.info({ engine: engine.name, report: engine.report }, 'engine ready');

const leftovers = createLeftovers({ data, limit: asideLimitOf(config), engine, logger });
void leftovers.tidy().then(() => every(TIDY_INTERVAL_MS, leftovers.tidy, shutdown));

const ids = createAnswerIds(sessionSecret);
const views = await openViews({
  log,
  snapshots: openSnapshots({ folder: data.snapshots, log }),
  adapters: config.adapters,
  checkpointsOf: data.checkpoints,
  isKept: cache?.isKept,
  ids,
  outboxDepth: recorder.outboxDepth,
  logger,
  signal: shutdown,
});
const { head, named: namedSessions, responses: conversations, sessions: sessionView } = views;
const versions = engine.hasVersions ? head : onlyBase;
const replica = `${hostname()}-${randomUUID().slice(0, 8)}`;
const served = serveHeads(config.adapters, (adapter) =>
  serveHead({
    view: versions.of(adapter),
    adapter,
    replica,
    engine,
    recorder,
    metrics,
    logger,
    retryMs: LOAD_RETRY_MS,
  }),
);
const canaries = new Map(
  config.adapters.map((adapter) => [
    adapter,
    serveCanary({ view: versions.of(adapter), engine, adapter, logger }),
  ]),
);
addGauges(registry, {
  engine,
  outboxDepth: recorder.outboxDepth,
  head,
  openSessions: sessionView.openCount,
});
const training = defaultTrainingSettings(config.model, config.training);
const batchSize = config.batchSize ?? training.batchSize;
const sessions = openSessions({
  view: sessionView,
  recorder,
  append: log.append,
  limits: {
    maxSessions: config.maxSessions,
    batchSize,
    maxBatchSize: config.maxBatchSize ?? largestBatch(batchSize),
    maxStaleness: config.maxStaleness ?? training.maxStaleness,
  },
  samplesOf: (adapter) => views.samples.get(adapter)!,
  countOn: head.reachEnd,
  votes: openStepVotes({
    log,
    signal: shutdown,
    isVotedOn: (lane) => {
      const session = sessionView.inLane(lane);
      return session?.process !== undefined && session.ended === undefined;
    },
  }),
  now: Date.now,
});
const leases = openLeases({ view: sessionView, table: views.leases, recorder, now: Date.now });
setInterval(() => void leases.sweep(), LEASE_SWEEP_INTERVAL_MS).unref();
const readiness = (): string | undefined => {
  if (shutdown.aborted) return 'stopping';
  const headStopped = head.stopped();
  if (headStopped !== undefined) return `cannot follow the training topic: ${headStopped}`;
  const sessionsStopped = sessionView.stopped();
  if (sessionsStopped !== undefined) return `cannot follow the conversations topic: ${sessionsStopped}`;
  if (!head.isCaughtUp() || !sessionView.isCaughtUp()) return 'reading the log';
  const engineProblem = engine.problem?.();
  if (engineProblem !== undefined) return `the engine is unavailable: ${engineProblem}`;
  return served.missing();
};

const ending = new AbortController();
const deps: ApiDeps = {
  ending: ending.signal,
  config,
  engine,
  recorder,
  access,
  answers,
  log,
  lineage: head,
  head: versions,
  unserved: served.unserved,
  canaryOf: (adapter) => canaries.get(adapter),
  ids,
  cacheSaltOf: createCacheSalts(sessionSecret, config.sharePrefixes),
  conversations,
  sessions,
  leases,
  namedSessions,
  limit: createPerKeyLimit(config.maxConcurrentPerKey),
  quota: createKeyQuota(monotonicNow, config.otherRequestsPerMinute),
  metrics,
  logger,
};
const server = await createServer(deps, {
  readiness,
  registry,
  registerRoutes: (fastify) => registerRoutes(fastify, deps),
});
const endpoint = await server
  .listen({ host: config.host, port: config.port })
  .catch((error: Error) =>
    refuse(`cannot listen on ${config.host}:${config.port}: ${error.message}; give another --port or --host`),
  );
logger.info({ endpoint: `${endpoint}/v1` }, 'listening');

await run(
  [head.done, sessionView.done, namedSessions.done, keys.done],
  [
    keys.close,
    answers.close,
    checkpoints.close,
    async () => cache?.close(),
    views.close,
    // The rest of the outbox goes to the log at the next start.
    () => withDeadline(recorder.close(), RECORDER_LIMIT_MS, () => {}),
    engine.close,
    () => closeServer(server, () => ending.abort(serverEnds), isOrphan()),
  ],
  [engine.failed],
);
