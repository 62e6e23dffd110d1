import { basename } from 'node:path';
import type { BucketStore } from '../../../shared/policy/checkpoints/bucket-store.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { AdapterSource } from '../generation.ts';

/** Checkpoints of a bucket, with copies in the data folder of this host. */
export type CheckpointCache = {
  /** Makes sure that the folder has the checkpoint. @throws CheckpointDamaged, StoreUnavailable */
  readonly ensure: (source: AdapterSource) => Promise<void>;
  /** The next `ensure` compares the copy with the bucket again. */
  readonly forget: (source: AdapterSource) => void;
  /** Whether the bucket has a checkpoint, as far as this process knows; while it does not know, it has all. */
  readonly isKept: (adapter: string, name: string) => boolean;
  readonly close: () => void;
};

type Options = {
  readonly adapters: readonly string[];
  readonly storeOf: (adapter: string) => Pick<BucketStore, 'fetch' | 'names' | 'tidy'>;
  readonly logger: Pick<Logger, 'info'>;
};

/** ms between two looks at what the bucket has */
const LOOK_MS = 60_000;

export function openCheckpointCache({ adapters, storeOf, logger }: Options): CheckpointCache {
  /** by folder, so that a checkpoint is compared once */
  const ready = new Map<string, Promise<void>>();
  const names = new Map<string, ReadonlySet<string>>();

  const look = async (adapter: string): Promise<void> => {
    names.set(adapter, new Set(await storeOf(adapter).names()));
    const removed = await storeOf(adapter).tidy();
    for (const folder of ready.keys()) if (removed.includes(basename(folder))) ready.delete(folder);
    if (removed.length > 0) logger.info({ adapter, removed }, 'copies of removed checkpoints removed');
  };
  // while the bucket is away, what was seen last stays true
  const lookAtAll = () => void Promise.allSettled(adapters.map(look));
  const timer = setInterval(lookAtAll, LOOK_MS).unref();
  lookAtAll();

  return {
    ensure: async ({ name: adapter, folder }) => {
      const fetching = ready.get(folder) ?? storeOf(adapter).fetch(basename(folder));
      ready.set(folder, fetching);
      try {
        await fetching;
      } catch (error) {
        if (ready.get(folder) === fetching) ready.delete(folder);
        throw error;
      }
    },
    forget: ({ folder }) => void ready.delete(folder),
    isKept: (adapter, name) => {
      const known = names.get(adapter);
      if (known === undefined || known.has(name)) return true;
      // promoted since the last look
      return ![...known].some((other) => versionIn(other) > versionIn(name));
    },
    close: () => clearInterval(timer),
  };
}

const versionIn = (name: string): number => Number.parseInt(name, 10);
