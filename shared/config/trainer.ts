import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { AsideConfig } from './aside.ts';
import { CheckpointsConfig } from './checkpoints.ts';
import { CommonConfig } from './common.ts';
import { QueueConfig } from './queue.ts';
import { TrainingServerConfig } from './training-server.ts';

/** How steps are run and kept. How a step learns is part of its batch (the collector's settings). */
export const TrainerConfig = CommonConfig.extend({
  healthPort: z.int().min(0).max(65_535).default(8703).describe('port of /healthz, /readyz and /metrics'),
  keep: z
    .int()
    .min(2)
    .default(20)
    .describe(
      'kept checkpoints of the served lineage: the served version, and those 1, 2, 4, 8 ... steps back; at least the nearest ten, to which verdicts may roll back; in addition half as many of the newest',
    ),
  threads: z
    .int()
    .min(0)
    .default(0)
    .describe('threads of the native backend; 0: one fewer than cores, which leaves one for serving'),
  niceness: z
    .int()
    .min(0)
    .max(19)
    .default(10)
    .describe('niceness of a step compared with other processes; 0: normal priority'),
  maxStrikes: z
    .int()
    .min(1)
    .default(3)
    .describe('attempts at one batch that may die or fail before it is given up'),
  stepTimeLimitMs: z
    .int()
    .min(1000)
    .max(2 ** 31 - 1)
    .default(6 * 60 * 60_000)
    .describe('ms after which a training attempt is stopped and counts as failed'),
  owedIntervalMs: z
    .int()
    .min(100)
    .default(60_000)
    .describe('ms between checks for an open batch that the queue may have lost'),
  ...AsideConfig.shape,
  ...CheckpointsConfig.shape,
  ...TrainingServerConfig.shape,
  ...QueueConfig.shape,
});
export type TrainerConfig = z.output<typeof TrainerConfig>;

/** Number of compute threads. The bits of a step depend on it, so it is part of the fingerprint. */
export const threadsOf = ({ threads }: Pick<TrainerConfig, 'threads'>): number =>
  threads === 0 ? Math.max(1, availableParallelism() - 1) : threads;
