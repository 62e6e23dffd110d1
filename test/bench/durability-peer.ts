import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { createAnswerIds } from '../../services/serving/answer/answer-ids.ts';
import { openOutbox } from '../../services/serving/answer/outbox.ts';
import { openRecordedAnswers } from '../../services/serving/answer/recorded-answers.ts';
import { createRecorder } from '../../services/serving/answer/recorder.ts';
import type { ApiDeps } from '../../services/serving/api/api-deps.ts';
import { registerRoutes } from '../../services/serving/api/routes.ts';
import type { Engine, Generated } from '../../services/serving/generation.ts';
import { onlyBase } from '../../services/serving/heads/head-view.ts';
import { openAccess } from '../../services/serving/http/access.ts';
import { createKeyQuota } from '../../services/serving/http/key-quota.ts';
import { createPerKeyLimit } from '../../services/serving/http/per-key-limit.ts';
import { createServer } from '../../services/serving/http/server.ts';
import { createServingMetrics } from '../../services/serving/metrics.ts';
import { ServingConfig } from '../../shared/config/serving.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { openFileKeys } from '../../shared/runtime/key-store.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { promptIds } from './prompt-ids.ts';

// A separate process for the durability bench: serving's own server and recorder over an engine that answers
// immediately. `durability-peer KIND FOLDER [BROKERS]` prints its port; KIND is the destination of facts.

export type Kind = 'nowhere' | 'embedded log' | 'outbox' | 'Kafka';
const [kind, folder, brokers] = process.argv.slice(2) as [Kind, string, string | undefined];

const CHUNKS = 8;
const TOKENS_PER_CHUNK = 8;
const tokenCount = CHUNKS * TOKENS_PER_CHUNK;

const opens: Readonly<Record<Kind, () => Promise<Pick<EventLog, 'append'>>>> = {
  nowhere: async () => ({ append: async () => {} }),
  'embedded log': () => openSqliteLog({ folder: dataFolder(folder).log }),
  outbox: async () => ({ append: () => Promise.reject(new Error('the log is away')) }),
  Kafka: () => openKafkaLog({ brokers: brokers!.split(',') }),
};

const engine: Engine = {
  name: 'local',
  report: 'the bench',
  hasVersions: false,
  generate: async ({ messages }, { onStart, onChunk }) => {
    const ids = promptIds(JSON.stringify(messages).length);
    onStart({ version: 0 });
    for (let chunk = 1; chunk <= CHUNKS; chunk++) {
      await delay(1);
      // The last token contains its time, ns of the clock that all processes of the machine share.
      const text = chunk === CHUNKS ? `@${process.hrtime.bigint()}@` : ' so many words';
      onChunk({ text, tokens: [] }, 0);
    }
    const generated: Generated = {
      version: 0,
      finishReason: 'stop',
      tokens: {
        promptIds: ids,
        responseIds: Array.from({ length: tokenCount }, (_, index) => index),
        logProbs: Array.from({ length: tokenCount }, (_, index) => -Math.sqrt(index + 1)),
        effectiveTemperature: 1,
        greedy: false,
        filters: { topP: 1, topK: 0 },
      },
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 256 },
      usage: { promptTokens: ids.length, completionTokens: tokenCount },
    };
    return [{ index: 0, generated }];
  },
  serve: async () => {},
  counters: () => Promise.reject(new Error('none')),
  failed: new Promise<never>(() => {}),
  close: async () => {},
};

const no = async () => {
  throw new Error('no session keys are shown here');
};
const noSessions = {
  start: no,
  current: no,
  reward: no,
  end: no,
  endNamed: no,
  isOpen: no,
  list: no,
  steps: no,
  rewardedSession: () => ({ answered: () => {}, end: no }),
};
const noLeases = { record: no, list: no, sweep: no };
const registry = new Registry();
const logger = createLogger('bench', 'silent');
const config = ServingConfig.parse({});
const log = await opens[kind]();
const deps: ApiDeps = {
  config,
  engine,
  recorder: createRecorder({
    log,
    outbox: await openOutbox(dataFolder(folder).outbox),
    appendTimeoutMs: config.appendTimeoutMs,
    drainIntervalMs: 1e8,
    logger,
  }),
  ids: createAnswerIds(randomBytes(32)),
  cacheSaltOf: () => undefined,
  access: openAccess({
    keys: openFileKeys(dataFolder(folder).keys),
    configured: undefined,
    always: false,
    sessionSecret: randomBytes(32),
  }),
  answers: openRecordedAnswers(dataFolder(folder).answers),
  head: onlyBase,
  log: {
    ...log,
    read: no,
    ends: no,
    follow: () => {
      throw new Error('this bench only appends');
    },
  },
  lineage: onlyBase,
  unserved: () => undefined,
  canaryOf: () => undefined,
  leases: noLeases,
  sessions: noSessions,
  namedSessions: { lanesOf: no, ended: () => {} },
  conversations: {
    remember: () => {},
    forget: () => {},
    deletions: () => [],
    isDeleted: async () => false,
    find: async () => new Map(),
  },
  ending: new AbortController().signal,
  limit: createPerKeyLimit(1_000),
  quota: createKeyQuota(monotonicNow),
  metrics: createServingMetrics(registry),
  logger,
};
const server = await createServer(deps, {
  readiness: () => undefined,
  registry,
  registerRoutes: (fastify) => registerRoutes(fastify, deps),
});
console.log(new URL(await server.listen({ port: 0, host: '127.0.0.1' })).port);
process.on('disconnect', () => process.exit(0));
