import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { topics } from '../../../shared/events/define-event.ts';
import { connectTo } from '../../../shared/log/kafka/connection.ts';
import { openTopicReader } from '../../../shared/log/kafka/topic-reader.ts';
import { isBusy as isLocked } from '../../../shared/log/sqlite/database.ts';
import type { Crowd } from './crowd.ts';
import type { Deployment } from './deployment.ts';
import type { LogWatch } from './log-watch.ts';
import type { Target } from './plan.ts';

/** The work in flight at a moment. Undefined: the process that knows did not answer. */
export type Exposure = {
  readonly 'open requests': number;
  readonly 'open streams': number;
  readonly 'votes queued': number | undefined;
  readonly 'votes running': number | undefined;
  readonly 'open batches': number;
  readonly 'steps running': number;
  readonly 'facts in the outbox': number;
  readonly 'events unread': number | undefined;
  readonly 'open transactions': number | undefined;
};

/** ms for one measurement, so that it does not delay the fault */
const LIMIT_MS = 400;
/** ms between two readings of the outbox */
const LOOK_MS = 50;
/** ms to wait for a moment at which the target has work */
const AIM_MS = 1_500;

export function openExposure(deployment: Deployment, crowd: Crowd, watch: LogWatch) {
  const { dataFolder, services, kafka } = deployment;
  const transactions = kafka === undefined ? openOnSqlite(dataFolder) : openOnKafka(kafka.brokers);
  const judges = services.filter(({ name }) => name === 'judge');
  const attempts = join(dataFolder, 'checkpoints', 'default');
  let deepest = 0;
  const looking = setInterval(() => {
    deepest = Math.max(deepest, outboxDepth(dataFolder));
  }, LOOK_MS);
  const stepsRunning = () => countFiles(attempts, '.attempts');
  const votes = () => Promise.any(judges.map(({ health }) => votesOf(health)));

  /** Whether a target has work in progress. */
  const hasWork: Readonly<Record<Target, () => Promise<boolean> | boolean>> = {
    serving: () => crowd.openStreams() > 0,
    collector: async () => (await transactions.count()) > 0,
    judge: async () => (await votes()).running > 0,
    trainer: () => stepsRunning() > 0,
    console: () => crowd.openRequests() > 0, // it is about to read their facts
    kafka: async () => (await transactions.count()) > 0,
    redis: async () => (await votes()).running > 0,
  };
  /** Waits briefly for such a moment. */
  const aim = async (target: Target): Promise<boolean> => {
    const end = performance.now() + AIM_MS;
    while (performance.now() < end) {
      if (await inTime(Promise.resolve(hasWork[target]()))) return true;
      await delay(2);
    }
    return false;
  };

  /** Takes the slow measurements first, and chooses the moment right before the fault. */
  const measure = async (aimedAt: Target | undefined): Promise<Exposure> => {
    const [jobs, unread, open] = await Promise.all([
      inTime(votes()),
      inTime(watch.unread()),
      inTime(transactions.count()),
    ]);
    const hit = aimedAt !== undefined && (await aim(aimedAt));
    const inTransaction = hit && (aimedAt === 'collector' || aimedAt === 'kafka');
    return {
      'open requests': crowd.openRequests(),
      'open streams': crowd.openStreams(),
      'votes queued': jobs?.queued,
      'votes running': jobs?.running,
      'open batches': watch.ledger.openBatches(),
      'steps running': stepsRunning(),
      'facts in the outbox': outboxDepth(dataFolder),
      'events unread': unread,
      'open transactions': inTransaction ? Math.max(1, open ?? 0) : open,
    };
  };
  const close = async () => {
    clearInterval(looking);
    await transactions.close();
  };
  /** `outboxPeak`: the largest number of facts in the outbox so far. */
  return { measure, outboxPeak: () => deepest, close };
}

/** Number of facts in serving's outbox now. */
export const outboxDepth = (dataFolder: string): number => countFiles(join(dataFolder, 'outbox'), '.json');

async function inTime<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  const late = new AbortController();
  const limit = delay(LIMIT_MS, undefined, { signal: late.signal }).catch(() => undefined);
  const result = await Promise.race([asked.catch(() => undefined), limit]);
  late.abort();
  return result;
}

function countFiles(folder: string, suffix: string): number {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(suffix)).length;
  } catch {
    return 0;
  }
}

async function votesOf(health: string): Promise<{ readonly queued: number; readonly running: number }> {
  const text = await (await fetch(`${health}/metrics`, { signal: AbortSignal.timeout(LIMIT_MS) })).text();
  const count = (state: string) =>
    Number(text.match(new RegExp(`^clawloop_judge_jobs\\{.*state="${state}".*\\} (\\d+)`, 'm'))?.[1] ?? 0);
  return { queued: count('waiting') + count('delayed'), running: count('running') };
}

/** Whether a process has SQLite's write lock; there is one writer at a time. */
function openOnSqlite(dataFolder: string) {
  const database = new DatabaseSync(join(dataFolder, 'log', 'log.sqlite'), { timeout: 0 });
  const count = async (): Promise<number> => {
    try {
      database.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (isLocked(error)) return 1;
      throw error;
    }
    database.exec('ROLLBACK');
    return 0;
  };
  return { count, close: async () => database.close() };
}

/** Number of partitions whose end is not stable yet: no transaction is open below the stable end. */
function openOnKafka(brokers: readonly string[]) {
  const connection = connectTo({ brokers });
  const reader = openTopicReader(connection.kafka);
  const count = async (): Promise<number> => {
    const counts = topics.map(async (topic) => {
      const name = connection.topicName(topic);
      const ends = await reader.offsets(name, 'end');
      const found = await reader.fetch(name, new Map(ends.map((end, partition) => [partition, end])), {
        waitMs: 0,
      });
      return found.filter(({ stable, end }) => stable < end).length;
    });
    return (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
  };
  return { count, close: reader.close };
}
