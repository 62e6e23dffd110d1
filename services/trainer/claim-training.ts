import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TrainerConfig } from '../../shared/config/trainer.ts';
import { claimFileInTurn } from '../../shared/runtime/claim.ts';
import type { DataFolder } from '../../shared/runtime/data-folder.ts';
import { makeFolder } from '../../shared/runtime/make-folder.ts';
import { redisAddress } from '../../shared/runtime/redis-of-config.ts';
import { writeDurably } from '../../shared/runtime/write-durably.ts';

export type TrainingClaim = {
  /** Rejects when a trainer of another host has taken over, because this one did not answer for a while. */
  readonly lost: Promise<never>;
  readonly release: () => Promise<void>;
};

type Options = {
  readonly config: TrainerConfig;
  readonly data: DataFolder;
  readonly logId: string;
  readonly onStandby: (reason: string) => void;
  readonly signal: AbortSignal;
};

const takesOver = 'this one stands by and takes over when it stops';

/**
 * Waits until no other trainer works: of this data folder, and with Kafka and Redis of any host. With two active
 * trainers, a job could wake up the one that does not have the batch, which would end the job. Nothing else depends on
 * it: the log fences commits, and of two checkpoints the first counts. Undefined after the signal aborts.
 */
export async function claimTraining(options: Options): Promise<TrainingClaim | undefined> {
  const { config, data, onStandby, signal } = options;
  await makeFolder(dirname(data.trainerClaim));
  const onWaiting = () => onStandby(`another trainer is using these checkpoints; ${takesOver}`);
  const file = await claimFileInTurn(data.trainerClaim, onWaiting, signal);
  if (file === undefined) return undefined;
  if (config.log !== 'kafka' || config.queue !== 'redis')
    return { lost: new Promise(() => {}), release: async () => file.release() };
  const lock = await lockOnRedis(options);
  if (lock === undefined) {
    file.release();
    return undefined;
  }
  const release = async () => {
    await lock.release();
    file.release();
  };
  return { lost: lock.lost, release };
}

async function lockOnRedis({ config, data, logId, onStandby, signal }: Options) {
  const { takeRedisLock } = await import('../../shared/queue/bullmq/redis-lock.ts');
  return takeRedisLock({
    address: await redisAddress(config),
    name: `${config.redisPrefix}:trainer:${logId}`,
    owner: await idOf(data.trainerId),
    onWaiting: () => onStandby(`another trainer of this log is working; ${takesOver}`),
    signal,
  });
}

/** The same for each trainer of a data folder, so that one that was killed starts again without a wait. */
async function idOf(path: string): Promise<string> {
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (existing !== '') return existing;
  const made = randomUUID();
  await writeDurably(path, made);
  return made;
}
