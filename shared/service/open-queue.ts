import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import type { JobQueue, JobQueueSettings } from '../queue/job-queue.ts';
import { openMemoryQueue } from '../queue/memory/open-memory-queue.ts';
import type { Readiness } from './health.ts';
import type { Logger } from './logger.ts';
import type { QueueConfig } from './queue-config.ts';

export type ServiceQueue<Data> = JobQueue<Data> & {
  readonly missing: Readiness;
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
  return { ...queue, missing: () => undefined, mountBoard: async () => {} };
}

async function openOnRedis<Data>(
  config: QueueConfig,
  name: string,
  settings: JobQueueSettings,
  logger: Logger,
): Promise<ServiceQueue<Data>> {
  // loaded here, so that who runs without Redis does not wait for its client
  const { openBullQueue } = await import('../queue/bullmq/open-bull-queue.ts');
  const ca = config.redisCaFile === undefined ? undefined : await readFile(config.redisCaFile, 'utf8');
  let told = false;
  const onTrouble = (error: Error): void => {
    const away = queue.missing();
    if (away === undefined) logger.warn({ err: error, queue: name }, 'queue');
    else if (!told) {
      told = true;
      logger.warn({ queue: name, error: messageOf(error) }, `waiting for ${away}`);
    }
  };
  const onReady = (): void => {
    told = false;
    logger.info({ queue: name, url: config.redisUrl }, 'connected to Redis');
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
  return { ...queue, mountBoard };
}

/** A refused connection is an AggregateError without a message of its own, one error per address. */
const messageOf = (error: Error): string =>
  error instanceof AggregateError
    ? error.errors.map(({ message }: Error) => message).join('; ')
    : error.message;
