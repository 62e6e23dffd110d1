import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fetchingInService } from '../../shared/hub/fetching-in-service.ts';
import { defaultTrainingSettings, largestBatch } from '../../shared/policy/training-defaults.ts';
import { monotonicNow } from '../../shared/service/clock.ts';
import { type KeySettings, keyOf } from '../../shared/service/configured-key.ts';
import { isLoopback } from '../../shared/service/is-loopback.ts';
import { makeFolder } from '../../shared/service/make-folder.ts';
import { openService } from '../../shared/service/open-service.ts';
import { widerThanPrivate } from '../../shared/service/private-folder.ts';
import { isRefusal, REFUSED_EXIT_CODE } from '../../shared/service/refusal.ts';
import { openAccess } from './access.ts';
import { createCacheSalts } from './cache-salt.ts';
import { serverEnds } from './chat/answer.ts';
import { createAnswerIds } from './chat/answer-ids.ts';
import { ServingConfig } from './config.ts';
import { openEngine } from './engine/open-engine.ts';
import { followHead, onlyBase } from './head-view.ts';
import { createKeyQuota } from './key-quota.ts';
import { createServingMetrics, watch } from './metrics.ts';
import { followNamedSessions } from './named-sessions.ts';
import { createPerKeyLimit } from './per-key-limit.ts';
import { openOutbox } from './record/outbox.ts';
import { openRecordedAnswers } from './record/recorded-answers.ts';
import { createRecorder } from './record/recorder.ts';
import { openConversations } from './responses/conversations.ts';
import { createLanePlaces } from './responses/lane-places.ts';
import { openSessionSecret } from './rl/session-secret.ts';
import { followSessions } from './rl/session-view.ts';
import { openSessions } from './rl/sessions.ts';
import { countWaitingSamples } from './rl/waiting-samples.ts';
import { serveHead } from './serve-head.ts';
import { serveHeads } from './serve-heads.ts';
import { closeServer, createServer } from './server.ts';

const DRAIN_INTERVAL_MS = 500;
const SWEEP_INTERVAL_MS = 3_600_000;
const LOAD_RETRY_MS = 2_000;
/** ms that the outbox may take to empty at the end */
const RECORDER_LIMIT_MS = 500;

/** Ends the process; a supervisor knows by the code whether starting it again would change anything. */
function refuse(reason: string, code = REFUSED_EXIT_CODE): never {
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
await makeFolder(data.root); // of keys and outbox, also where the log is elsewhere
const wide = await widerThanPrivate(data.root);
if (wide !== undefined) logger.warn({ advice: wide.advice }, `${wide.what}; ${wide.advice}`);
/** A file of the key that cannot be used is refused like any other setting. */
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
const access = openAccess({
  ...{ path: data.keys, configured: keyFrom(config), always: !loopback },
  sessionSecret,
});
const hasKey = await access.hasKey().catch((error: Error) => refuse(error.message));
if (!loopback && !hasKey) {
  refuse(
    `will not listen on ${config.host} without an access key: make one with \`clawloop keys create NAME\`, ` +
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
const answers = openRecordedAnswers(data.answers);
await answers.sweep();
setInterval(() => void answers.sweep(), SWEEP_INTERVAL_MS).unref();

const engine = await openEngine(config, { ...fetchingInService(logger, shutdown), logger }).catch(
  (error: Error) => refuse(error.message, isRefusal(error) ? REFUSED_EXIT_CODE : 1),
);
logger.info({ engine: engine.name, report: engine.report }, 'engine');

const waitingSamples = new Map(config.adapters.map((name) => [name, countWaitingSamples(name)]));
const head = followHead({
  onEvent: (event) => waitingSamples.get(event.subject)?.on(event),
  log,
  adapters: config.adapters,
  checkpointsOf: data.checkpoints,
  signal: shutdown,
});
const versions = engine.hasVersions ? head : onlyBase;
const replica = `${hostname()}-${randomUUID().slice(0, 8)}`;
const served = serveHeads(config.adapters, (adapter) =>
  serveHead({
    ...{ view: versions.of(adapter), adapter, replica, engine, recorder, metrics, logger },
    retryMs: LOAD_RETRY_MS,
  }),
);
const ids = createAnswerIds(sessionSecret);
const places = createLanePlaces();
const conversations = openConversations({
  ...{ log, ids, places },
  reachEnd: () => sessionView.reachEnd(),
  isCaughtUp: () => sessionView.isCaughtUp(),
});
const sessionView = followSessions({
  ...{ log, signal: shutdown },
  onDeleted: conversations.forget,
  onHeading: (heading) => {
    places.note(heading);
    namedSessions.note(heading);
  },
});
const namedSessions = followNamedSessions({
  ...{ log, signal: shutdown, ids, reachEnd: sessionView.reachEnd },
  outboxDepth: recorder.outboxDepth,
});
watch(registry, engine, recorder.outboxDepth, head, sessionView.openCount);
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
  samplesOf: (adapter) => waitingSamples.get(adapter)!,
  countOn: head.reachEnd,
  now: Date.now,
});
const readiness = (): string | undefined => {
  if (shutdown.aborted) return 'stopping';
  const behind = head.stopped();
  if (behind !== undefined) return `the training topic cannot be read on: ${behind}`;
  const unread = sessionView.stopped();
  if (unread !== undefined) return `the conversations topic cannot be read on: ${unread}`;
  if (!head.isCaughtUp() || !sessionView.isCaughtUp()) return 'reading the log';
  const unreachable = engine.problem?.();
  if (unreachable !== undefined) return `the engine cannot be asked: ${unreachable}`;
  return served.missing();
};

const ending = new AbortController();
const server = await createServer(
  {
    ending: ending.signal,
    config,
    engine,
    recorder,
    access,
    answers,
    head: versions,
    unserved: served.unserved,
    ids,
    cacheSaltOf: createCacheSalts(sessionSecret, config.sharePrefixes),
    conversations,
    sessions,
    namedSessions,
    limit: createPerKeyLimit(config.maxConcurrentPerKey),
    quota: createKeyQuota(monotonicNow, config.otherRequestsPerMinute),
    metrics,
    logger,
  },
  readiness,
  registry,
);
const endpoint = await server
  .listen({ host: config.host, port: config.port })
  .catch((error: Error) => refuse(`cannot listen on ${config.host}:${config.port}: ${error.message}`));
logger.info({ endpoint: `${endpoint}/v1` }, 'listening');

await run(
  [head.done, sessionView.done, namedSessions.done],
  [
    // What it cannot hand over in time is handed over at the next start.
    () => Promise.race([recorder.close(), delay(RECORDER_LIMIT_MS)]),
    engine.close,
    () => closeServer(server, () => ending.abort(serverEnds), isOrphan()),
  ],
  [engine.failed],
);
