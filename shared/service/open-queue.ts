import type { FastifyInstance } from 'fastify';
import { tlsRefusals } from '../log/tls-refusals.ts';
import type { JobQueue, JobQueueSettings } from '../queue/job-queue.ts';
import { openMemoryQueue } from '../queue/memory/open-memory-queue.ts';
import type { Readiness } from './health.ts';
import type { Logger } from './logger.ts';
import { readCertificates } from './open-log.ts';
import type { QueueConfig } from './queue-config.ts';
import { Refusal } from './refusal.ts';
import { createWaitNotice } from './wait-notice.ts';

/** Refusals in a row that count as meant: a Redis that starts may not have read its users yet. */
const REFUSALS = 3;
/** ms between two looks whether Redis is there */
const WATCH_MS = 1_000;

export type ServiceQueue<Data> = JobQueue<Data> & {
  readonly missing: Readiness;
  /**
   * Rejects with Refusal when Redis answers, and will not have us: a wrong password, an unknown certificate.
   */
  readonly refused: Promise<never>;
  /** Bull Board under `/board`, where there is something to show and a key to show it to. */
  readonly mountBoard: (server: FastifyInstance) => Promise<void>;
};

/** The queue that the settings ask for. Redis may come later: until then it is waited for, and logged. */
export async function openQueue<Data>(
  config: QueueConfig,
  name: string,
  settings: JobQueueSettings,
  logger: Logger,
): Promise<ServiceQueue<Data>> {
  if (config.queue === 'redis') return openOnRedis(config, name, settings, logger);
  const queue = openMemoryQueue<Data>(name, settings);
  return { ...queue, missing: () => undefined, refused: new Promise(() => {}), mountBoard: async () => {} };
}

async function openOnRedis<Data>(
  config: QueueConfig,
  name: string,
  settings: JobQueueSettings,
  logger: Logger,
): Promise<ServiceQueue<Data>> {
  // loaded here, so that who runs without Redis does not wait for its client
  const { openBullQueue } = await import('../queue/bullmq/open-bull-queue.ts');
  const ca = config.redisCaFile === undefined ? undefined : await readCertificates(config.redisCaFile);
  const place = `Redis at ${new URL(config.redisUrl).host}`;
  const refused = Promise.withResolvers<never>();
  refused.promise.catch(() => {}); // who runs the works is told; before that nobody may watch
  const notice = createWaitNotice({
    away: (reason, seconds) => logger.warn({ queue: name, reason, seconds }, `waiting for ${place}`),
    back: (seconds) => logger.info({ queue: name, seconds }, `${place} is back`),
  });
  let connected = false;
  let refusals = 0;
  const onTrouble = (error: Error): void => {
    if (queue.missing() === undefined) {
      logger.warn({ err: error, queue: name }, 'queue');
      return;
    }
    notice.away(messageOf(error));
    refusals = isRefused(error) ? refusals + 1 : 0;
    // once it took us, what it says now may pass: it reads its users again after a restart
    if (!connected && refusals >= REFUSALS)
      refused.reject(new Refusal(`${place} refuses us: ${messageOf(error)}`));
  };
  // one that takes the connection and hangs says nothing at all
  const watch = setInterval(() => {
    if (queue.missing() !== undefined) notice.away('no connection');
  }, WATCH_MS);
  watch.unref();
  const onReady = (): void => {
    refusals = 0;
    if (!connected) logger.info({ queue: name, url: config.redisUrl }, 'connected to Redis');
    connected = true;
    notice.back();
  };
  const queue = await openBullQueue<Data>(name, settings, {
    url: config.redisUrl,
    username: config.redisUsername,
    password: config.redisPassword,
    tls: ca === undefined ? undefined : { ca },
    prefix: config.redisPrefix,
    onTrouble,
    onReady,
  });
  const mountBoard = async (server: FastifyInstance): Promise<void> => {
    if (config.boardKey === undefined) return;
    const { mountBullBoard } = await import('../queue/bullmq/mount-bull-board.ts');
    await mountBullBoard(server, queue.bull, config.boardKey);
  };
  const close = async (): Promise<void> => {
    clearInterval(watch);
    await queue.close();
  };
  return { ...queue, refused: refused.promise, mountBoard, close };
}

/** A refused connection is an AggregateError without a message of its own, one error per address. */
const messageOf = (error: Error): string =>
  error instanceof AggregateError
    ? error.errors.map(({ message }: Error) => message).join('; ')
    : error.message;

/** It answers: with no to our name and password, or with a certificate that nobody vouches for. */
const isRefused = (error: Error): boolean =>
  /^(WRONGPASS|NOAUTH|NOPERM)\b/.test(error.message) ||
  tlsRefusals.has((error as NodeJS.ErrnoException).code ?? '');
