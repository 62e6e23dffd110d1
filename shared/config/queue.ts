import { z } from 'zod';
import { hasNoPassword } from './logged-url.ts';

/** Where Redis is. */
export const RedisConfig = z.object({
  redisUrl: z
    .url({ protocol: /^rediss?$/ })
    .refine(hasNoPassword, 'give the password as redisPassword, because the URL is logged')
    .default('redis://127.0.0.1:6379')
    .describe('redis: address, redis://host:port/database, or rediss:// for TLS'),
  redisUsername: z.string().optional().describe('redis: user name (ACL)'),
  redisPassword: z.string().optional().describe('redis: password'),
  redisCaFile: z
    .string()
    .optional()
    .describe('redis: PEM file with the certificate authorities of a rediss:// server'),
  redisPrefix: z
    .string()
    .regex(/^[\w.-]+$/)
    .default('clawloop')
    .describe('redis: prefix of all keys; one per deployment'),
});
export type RedisConfig = z.output<typeof RedisConfig>;

/** Settings of the job queue, taken by the judge and the trainer. */
export const QueueConfig = z.object({
  queue: z
    .enum(['memory', 'redis'])
    .default('memory')
    .describe(
      'memory: in the process, for one process per service; redis: BullMQ, for any number of processes',
    ),
  ...RedisConfig.shape,
  boardKey: z
    .string()
    .min(8)
    .optional()
    .describe('redis: key that enables Bull Board under /board on the health port'),
});
export type QueueConfig = z.output<typeof QueueConfig>;
