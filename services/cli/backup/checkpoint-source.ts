import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bucket } from '../../../shared/policy/checkpoints/bucket.ts';
import { keysOf, readManifest } from '../../../shared/policy/checkpoints/bucket-manifest.ts';
import { downloadCheckpoint, fetchedName } from '../../../shared/policy/checkpoints/bucket-transfer.ts';
import { CheckpointDamaged, readState } from '../../../shared/policy/checkpoints/checkpoint-files.ts';
import type { Checkpoints } from '../../../shared/runtime/open-checkpoints.ts';
import type { NamedCheckpoint } from './backup-folder.ts';
import { copyFile, digestOfFile, filesBelow, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import { bytesOf, type StoredFile } from './manifest.ts';

/** A committed checkpoint that a backup may copy. */
export type FoundCheckpoint = {
  /** where it is, for messages */
  readonly from: string;
  readonly digest: string;
  readonly bytes: number;
  /**
   * Copies its files to a new folder.
   * @throws CheckpointDamaged, StoreUnavailable, FileError
   */
  readonly copyTo: (folder: string, reading: Reading) => Promise<readonly StoredFile[]>;
};

/** The checkpoints that a backup reads. */
export type CheckpointSource = {
  readonly has: (named: NamedCheckpoint) => Promise<boolean>;
  /** @throws CheckpointDamaged, StoreUnavailable, or another error if there is none */
  readonly find: (named: NamedCheckpoint) => Promise<FoundCheckpoint>;
};

export const checkpointsOf = (checkpoints: Checkpoints): CheckpointSource =>
  checkpoints.kind === 'folder'
    ? folderCheckpoints((adapter) => checkpoints.storeOf(adapter).folder)
    : bucketCheckpoints(checkpoints.bucket);

export function folderCheckpoints(folderOf: (adapter: string) => string): CheckpointSource {
  const pathOf = ({ adapter, name }: NamedCheckpoint) => join(folderOf(adapter), name);
  return {
    has: (named) =>
      stat(pathOf(named)).then(
        () => true,
        () => false,
      ),
    find: async (named) => {
      const from = pathOf(named);
      const { digest } = await readState(from);
      const sizes = (await filesBelow(from)).map(async (path) => ({
        bytes: (await stat(join(from, path))).size,
      }));
      const copyTo = async (folder: string, reading: Reading) => {
        const files: StoredFile[] = [];
        for (const path of await filesBelow(from))
          files.push({ path, ...(await copyFile(join(from, path), join(folder, path), reading)) });
        return files;
      };
      return { from, digest, bytes: bytesOf(await Promise.all(sizes)), copyTo };
    },
  };
}

function bucketCheckpoints(bucket: Bucket): CheckpointSource {
  const keyOf = ({ adapter, name }: NamedCheckpoint) => keysOf(adapter).manifest(name);
  /** By adapter. A log names many checkpoints that were pruned, so one listing answers for all of them. */
  const listings = new Map<string, Promise<ReadonlySet<string>>>();
  const keysIn = (adapter: string) => {
    const listing =
      listings.get(adapter) ??
      bucket.list(keysOf(adapter).manifests).then((objects) => new Set(objects.map(({ key }) => key)));
    listings.set(adapter, listing);
    return listing;
  };
  return {
    has: async (named) => (await keysIn(named.adapter)).has(keyOf(named)),
    find: async (named) => {
      const from = `${bucket.name}/${named.adapter}/${named.name}`;
      const manifest = await readManifest(bucket, keyOf(named));
      if (manifest === undefined) throw new CheckpointDamaged(`there is no checkpoint ${from}`);
      const copyTo = async (folder: string, reading: Reading) => {
        await using('write', folder, async () => {
          await downloadCheckpoint(bucket, manifest, { folder, temporary: `${folder}.part` });
          await rm(join(folder, fetchedName));
        });
        const files: StoredFile[] = [];
        for (const path of await filesBelow(folder))
          files.push({ path, ...(await digestOfFile(join(folder, path), reading)) });
        return files;
      };
      const bytes = bytesOf(manifest.files.flatMap(({ pieces }) => pieces));
      return { from, digest: manifest.state.digest, bytes, copyTo };
    },
  };
}
