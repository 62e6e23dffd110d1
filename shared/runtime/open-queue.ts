import type { FastifyInstance } from 'fastify';
import type { QueueConfig } from '../config/queue.ts';
import { tlsRefusals } from '../log/tls-refusals.ts';
import type { JobQueue, JobQueueSettings } from '../queue/job-queue.ts';
import { openMemoryQueue } from '../queue/memory/open-memory-queue.ts';
import { monotonicNow } from './clock.ts';
import type { Readiness } from './health.ts';
import type { Logger } from './logger.ts';
import { messageOfRedis, placeOfRedis, redisAddress } from './redis-of-config.ts';
import { Refusal } from './refusal.ts';
import { createRepeats } from './repeats.ts';
import { createWaitNotice } from './wait-notice.ts';

/** refusals in a row that count as final: a starting Redis may not know its users yet */
const REFUSALS = 3;
/** ms between two checks of the connection */
const WATCH_MS = 1_000;

export type ServiceQueue<Data> = JobQueue<Data> & {
  readonly missing: Readiness;
  /** Rejects with Refusal when Redis refuses the connection: a wrong password, an unknown certificate. */
  readonly refused: Promise<never>;
  /** Bull Board under `/board`, for a queue on Redis with a board key. */
  readonly mountBoard: (server: FastifyInstance) => Promise<void>;
};

/** Opens the configured queue. If Redis is not available, it waits and logs that. */
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
  // imported here, so that setups without Redis do not load its client
  const { openBullQueue } = await import('../queue/bullmq/open-bull-queue.ts');
  const address = await redisAddress(config);
  const place = placeOfRedis(config);
  const refused = Promise.withResolvers<never>();
  refused.promise.catch(() => {}); // `run` reports it; it may reject before `run` is called
  const notice = createWaitNotice({
    away: (reason, seconds) => logger.warn({ queue: name, reason, seconds }, `waiting for ${place}`),
    back: (seconds) => logger.info({ queue: name, seconds }, `${place} is back`),
  });
  const repeats = createRepeats(monotonicNow);
  let connected = false;
  let refusals = 0;
  const onTrouble = (error: Error): void => {
    if (queue.missing() === undefined) {
      const reason = repeats(causeOf(error));
      if (reason !== undefined)
        logger.warn({ queue: name, reason }, 'the queue reported an error; it stays connected to Redis');
      return;
    }
    notice.away(messageOfRedis(error));
    refusals = isRefused(error) ? refusals + 1 : 0;
    // after a first connection a refusal may be temporary: Redis may be restarting
    if (!connected && refusals >= REFUSALS)
      refused.reject(new Refusal(`${place} refused the connection: ${messageOfRedis(error)}`));
  };
  // a Redis that accepts the connection but hangs reports no error
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
    ...address,
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

/** Redis names the script and its line too, which would make one cause look like several. */
const causeOf = (error: Error): string =>
  messageOfRedis(error).replace(/ script: \w+, on @user_script:\d+\.$/, '');

/** Whether Redis answers but refuses the connection: wrong credentials, or an untrusted certificate. */
const isRefused = (error: Error): boolean =>
  /^(WRONGPASS|NOAUTH|NOPERM)\b/.test(error.message) ||
  tlsRefusals.has((error as NodeJS.ErrnoException).code ?? '');
