import type { RedisConfig } from '../config/queue.ts';
import type { RedisAddress } from '../queue/bullmq/connect-redis.ts';
import { readCertificates } from './open-log.ts';

/** How to connect to the configured Redis. @throws Refusal when the file with the certificates cannot be read */
export async function redisAddress(config: RedisConfig): Promise<RedisAddress> {
  const { redisUrl: url, redisUsername: username, redisPassword: password, redisCaFile } = config;
  const ca = redisCaFile === undefined ? undefined : await readCertificates(redisCaFile);
  return { url, username, password, tls: ca === undefined ? undefined : { ca } };
}

/** For messages: without user name and password. */
export const placeOfRedis = ({ redisUrl }: RedisConfig): string => `Redis at ${new URL(redisUrl).host}`;

/** A refused connection is an AggregateError without a message, with one error per address. */
export const messageOfRedis = (error: Error): string =>
  error instanceof AggregateError
    ? error.errors.map(({ message }: Error) => message).join('; ')
    : error.message;
