import type { QueueConfig } from '../../../shared/config/queue.ts';
import { connectRedis, disconnectRedis, untilReady } from '../../../shared/queue/bullmq/connect-redis.ts';
import { NotNow } from '../../../shared/runtime/command-errors.ts';
import { messageOfRedis, placeOfRedis, redisAddress } from '../../../shared/runtime/redis-of-config.ts';

/** Settings that find the Redis of the services. */
export type RedisOfServices = Omit<QueueConfig, 'boardKey'>;

/** The answers of all servings on Redis. */
export type SharedAnswers = {
  readonly count: () => Promise<number>;
  readonly remove: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** ms for an answer of Redis */
const ANSWER_MS = 5_000;

/**
 * Opens what servings share on Redis; undefined: they share nothing there. Whose an answer is can be computed only with
 * the session secret, so all of them go: a repeated request is then answered anew.
 * @throws NotNow when Redis does not answer
 */
export async function openSharedAnswers(config: RedisOfServices): Promise<SharedAnswers | undefined> {
  if (config.queue !== 'redis') return undefined;
  let isClosed = false;
  const redis = connectRedis(await redisAddress(config), () => isClosed, ANSWER_MS);
  redis.on('error', () => {}); // the commands below fail
  await untilReady(redis, ANSWER_MS);
  const talking = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
    try {
      return await ask();
    } catch (error) {
      throw new NotNow(`${placeOfRedis(config)} does not answer: ${messageOfRedis(error as Error)}`);
    }
  };
  const names = () =>
    talking(async () => {
      const found = new Set<string>();
      const match = `${config.redisPrefix}:answers:*`;
      for (let cursor = '0'; ; ) {
        const [next, some] = await redis.scan(cursor, 'MATCH', match, 'COUNT', 1_000);
        for (const name of some) found.add(name);
        if (next === '0') return [...found];
        cursor = next;
      }
    });
  return {
    count: async () => (await names()).length,
    remove: async () => {
      for (const name of await names()) await talking(() => redis.del(name));
    },
    close: async () => {
      isClosed = true;
      await disconnectRedis(redis);
    },
  };
}
