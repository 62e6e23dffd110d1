import { z } from 'zod';

/** Where the jobs of a service with workers are kept: what judge and trainer take. */
export const QueueConfig = z.object({
  queue: z
    .enum(['memory', 'redis'])
    .default('memory')
    .describe('memory: jobs in the process, one process per service; redis: BullMQ, any number of processes'),
  redisUrl: z
    .url({ protocol: /^rediss?$/ })
    .refine((url) => new URL(url).password === '', 'give the password as redisPassword: the URL is logged')
    .default('redis://127.0.0.1:6379')
    .describe('queue redis: redis://host:port/database; rediss:// for TLS'),
  redisUsername: z.string().optional().describe('queue redis: user (ACL)'),
  redisPassword: z.string().optional().describe('queue redis: password'),
  redisCaFile: z
    .string()
    .optional()
    .describe('queue redis: certificate authorities of a rediss:// server, PEM'),
  redisPrefix: z
    .string()
    .regex(/^[\w.-]+$/)
    .default('clawloop')
    .describe('queue redis: what every key begins with; one per deployment'),
  boardKey: z
    .string()
    .min(8)
    .optional()
    .describe('queue redis: key of Bull Board under /board on the health port; without one it is not there'),
});
export type QueueConfig = z.output<typeof QueueConfig>;
