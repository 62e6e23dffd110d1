import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { openBucket } from '../bucket/open-bucket.ts';
import { bucketPlace, type CheckpointsConfig } from '../config/checkpoints.ts';
import { ConfigError } from '../config/common.ts';
import type { Bucket } from '../policy/checkpoints/bucket.ts';
import { type BucketStore, openBucketStore } from '../policy/checkpoints/bucket-store.ts';
import { type CheckpointStore, openCheckpointStore } from '../policy/checkpoints/checkpoint-store.ts';
import type { DataFolder } from './data-folder.ts';

type Place = {
  /** The checkpoints of an adapter on this host. */
  readonly localOf: (adapter: string) => CheckpointStore;
  /** Names of the adapters with checkpoints. @throws StoreUnavailable */
  readonly adapters: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

/** Where the settings keep checkpoints. */
export type Checkpoints =
  | (Place & { readonly kind: 'folder'; readonly storeOf: (adapter: string) => CheckpointStore })
  | (Place & {
      readonly kind: 'bucket';
      readonly bucket: Bucket;
      readonly storeOf: (adapter: string) => BucketStore;
    });

/** @throws ConfigError when the settings name a bucket and not its access key */
export function openCheckpoints(
  config: CheckpointsConfig,
  data: Pick<DataFolder, 'checkpoints' | 'trainerClaim'>,
): Checkpoints {
  const place = bucketPlace(config);
  if (typeof place === 'string') throw new ConfigError(place);
  const localOf = (adapter: string) => openCheckpointStore(data.checkpoints(adapter));
  const adaptersHere = async (): Promise<readonly string[]> => {
    const entries = await readdir(dirname(data.trainerClaim), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  };
  if (place === undefined)
    return { kind: 'folder', localOf, storeOf: localOf, adapters: adaptersHere, close: async () => {} };
  const bucket = openBucket(place);
  const stores = new Map<string, BucketStore>();
  const storeOf = (adapter: string): BucketStore => {
    const store = stores.get(adapter) ?? openBucketStore({ bucket, adapter, local: localOf(adapter) });
    stores.set(adapter, store);
    return store;
  };
  const adapters = async () => {
    const keys = (await bucket.list('')).map(({ key }) => key.split('/')[0]!);
    return [...new Set([...(await adaptersHere()), ...keys])];
  };
  return { kind: 'bucket', bucket, localOf, storeOf, adapters, close: bucket.close };
}
