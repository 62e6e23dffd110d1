import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { CommonConfig } from '../../shared/service/config.ts';
import { QueueConfig } from '../../shared/service/queue-config.ts';

/** How a step learns stands in its batch (the collector's settings); here is how it is run and kept. */
export const TrainerConfig = CommonConfig.extend({
  healthPort: z.int().min(0).max(65_535).default(8703).describe('port of /healthz, /readyz and /metrics'),
  keep: z
    .int()
    .min(2)
    .default(20)
    .describe(
      'checkpoints kept of the served lineage: the served one, and those 1, 2, 4, 8 ... steps back; beside them the newest half as many',
    ),
  threads: z
    .int()
    .min(0)
    .default(0)
    .describe('threads of the native backend; 0: one fewer than cores, so that serving has one'),
  niceness: z
    .int()
    .min(0)
    .max(19)
    .default(10)
    .describe('how far the step stands back behind other processes; 0: not at all'),
  maxStrikes: z
    .int()
    .min(1)
    .default(3)
    .describe('attempts at one batch that may be killed or fail before it is given up'),
  stepTimeLimitMs: z
    .int()
    .min(1000)
    .max(2 ** 31 - 1)
    .default(6 * 60 * 60_000)
    .describe('ms after which an attempt is stopped and counts as failed'),
  owedIntervalMs: z
    .int()
    .min(100)
    .default(60_000)
    .describe('ms between looks for an open batch that the queue may have lost'),
  ...QueueConfig.shape,
});
export type TrainerConfig = z.output<typeof TrainerConfig>;

/** Threads to compute with. Bits of a step depend on them, so they stand in its fingerprint. */
export const threadsOf = ({ threads }: Pick<TrainerConfig, 'threads'>): number =>
  threads === 0 ? Math.max(1, availableParallelism() - 1) : threads;
