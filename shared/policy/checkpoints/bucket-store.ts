import { randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { excessOf, type Leftover } from '../../lang/leftovers.ts';
import { sum } from '../../lang/numbers.ts';
import { attemptsSuffix } from './attempts.ts';
import type { Bucket } from './bucket.ts';
import {
  type BucketManifest,
  keysOf,
  manifestContent,
  readManifest,
  textContent,
} from './bucket-manifest.ts';
import {
  downloadCheckpoint,
  fetchedName,
  isSameCheckpoint,
  removeObjects,
  uploadCheckpoint,
} from './bucket-transfer.ts';
import {
  CheckpointDamaged,
  type CheckpointStore,
  elsewhere,
  type StoredCheckpoint,
} from './checkpoint-store.ts';
import { entriesOf } from './folder-entries.ts';
import { prunable } from './prune.ts';
import type { CheckpointSummary } from './state.ts';
import { storeUnavailable } from './store-unavailable.ts';

/** Checkpoints of one adapter in a bucket, with a folder of this host as a cache. */
export type BucketStore = CheckpointStore & {
  /** Names of the committed checkpoints. */
  readonly names: () => Promise<readonly string[]>;
  /**
   * Makes sure that the folder has a checkpoint as the bucket has it. A copy that is there is accepted while the bucket
   * is away.
   *
   * @throws CheckpointDamaged, StoreUnavailable
   */
  readonly fetch: (name: string) => Promise<void>;
  /** Removes what was fetched and is not in the bucket any more, and unfinished downloads. Returns names. */
  readonly tidy: () => Promise<readonly string[]>;
};

type Options = {
  readonly bucket: Bucket;
  readonly adapter: string;
  /** The folder, as a store of its own. */
  readonly local: CheckpointStore;
  /** of the largest object */
  readonly pieceBytes?: number;
};

/** ms after which objects without a manifest are removed: an upload does not take a day. */
const LEFTOVER_MS = 24 * 60 * 60 * 1000;
const temporaryPrefix = '.tmp-';

/**
 * A store of checkpoints in a bucket. A manifest commits a checkpoint: it is written last, and only if there is none of
 * its name. So the first of two writers wins, on whichever hosts they run. Attempts stay in the folder of the host.
 */
export function openBucketStore({ bucket, adapter, local, pieceBytes }: Options): BucketStore {
  const keys = keysOf(adapter);
  const folderOf = (name: string) => join(local.folder, name);
  const place = `${bucket.name}/${adapter}`;
  /** by key and etag */
  const known = new Map<string, BucketManifest>();

  const names = async (): Promise<readonly string[]> =>
    (await bucket.list(keys.manifests)).map(({ key }) => key.slice(keys.manifests.length, -'.json'.length));
  const manifestOf = (name: string) => readManifest(bucket, keys.manifest(name));

  /** All manifests under a prefix; a damaged one is in neither the result nor the bucket's list of checkpoints. */
  const manifestsIn = async (prefix: string) => {
    const objects = await bucket.list(prefix);
    const read = objects.map(async ({ key, etag }) => {
      const cached = known.get(key + etag);
      if (cached !== undefined) return cached;
      try {
        const manifest = await readManifest(bucket, key);
        if (manifest !== undefined) known.set(key + etag, manifest);
        return manifest;
      } catch (error) {
        if (error instanceof CheckpointDamaged) return undefined;
        throw error;
      }
    });
    const manifests = (await Promise.all(read)).filter((one) => one !== undefined);
    return { manifests, isWhole: manifests.length === objects.length };
  };

  const download = async (manifest: BucketManifest): Promise<void> => {
    const { name } = manifest;
    const temporary = join(local.folder, `${temporaryPrefix}${name}-${randomUUID()}`);
    await downloadCheckpoint(bucket, manifest, { folder: folderOf(name), temporary });
  };

  /** Replaces the folder's copy if it is another than the bucket's. */
  const makeSame = async (manifest: BucketManifest): Promise<void> => {
    if (await local.has(manifest.name)) {
      if (await isSameCheckpoint(folderOf(manifest.name), manifest)) return;
      await rm(folderOf(manifest.name), { recursive: true });
    }
    await download(manifest);
  };

  const fetch = async (name: string): Promise<void> => {
    const isHere = await local.has(name);
    const manifest = await manifestOf(name).catch((error: unknown) => {
      if (isHere) return undefined;
      throw error;
    });
    if (manifest !== undefined) await makeSame(manifest);
    else if (!isHere) throw storeUnavailable(`there is no checkpoint ${name} in ${place}`);
  };

  /** Commits what is in the folder. False: another writer was first; the folder then has the other's checkpoint. */
  const publish = async (name: string): Promise<boolean> => {
    const isFirst =
      !(await bucket.has(keys.manifest(name))) &&
      (await uploadCheckpoint(bucket, adapter, folderOf(name), { name, ...(pieceBytes && { pieceBytes }) }));
    if (isFirst) return true;
    const manifest = await manifestOf(name);
    if (manifest === undefined) throw storeUnavailable(`${place}: another writer is committing ${name}`);
    await makeSame(manifest);
    return false;
  };

  const list = async (): Promise<readonly CheckpointSummary[]> => {
    const { manifests } = await manifestsIn(keys.manifests);
    return manifests
      .map(({ name, state }) => ({ name, state }))
      .sort((a, b) => a.state.version - b.state.version);
  };

  const removeCheckpoint = async (name: string): Promise<void> => {
    const manifest = await manifestOf(name);
    await bucket.remove(keys.manifest(name));
    if (manifest !== undefined) await removeObjects(bucket, manifest.files);
  };

  /** Objects of uploads that were cut off. */
  const removeLeftovers = async (): Promise<readonly string[]> => {
    const objects = (await bucket.list(keys.objects)).filter(({ age }) => age > LEFTOVER_MS);
    if (objects.length === 0) return [];
    const [committed, aside] = [await manifestsIn(keys.manifests), await manifestsIn(keys.asides)];
    if (!committed.isWhole || !aside.isWhole) return []; // the damaged manifest may name them
    const uploads = new Set([...committed.manifests, ...aside.manifests].map(({ upload }) => upload));
    const uploadOf = (key: string) => key.slice(keys.objects.length).split('/')[0]!;
    const left = objects.filter(({ key }) => !uploads.has(uploadOf(key)));
    for (const { key } of left) await bucket.remove(key);
    return [...new Set(left.map(({ key }) => uploadOf(key)))];
  };

  /** Manifests that were set aside. A damaged one stays, since nobody knows what it names. */
  const asides = async (
    now: number,
  ): Promise<readonly (Leftover & { readonly manifest: BucketManifest })[]> => {
    const objects = await bucket.list(keys.asides);
    const read = objects.map(async ({ key, age }) => {
      const manifest = await readManifest(bucket, key).catch((error: unknown) => {
        if (error instanceof CheckpointDamaged) return undefined;
        throw error;
      });
      const pieces = manifest?.files.flatMap((file) => file.pieces) ?? [];
      const bytes = sum(pieces.map((piece) => piece.bytes));
      return manifest === undefined ? [] : [{ path: key, bytes, since: now - age, manifest }];
    });
    return (await Promise.all(read)).flat();
  };

  const tidy = async (): Promise<readonly string[]> => {
    const here = await entriesOf(local.folder);
    const there = new Set(await names());
    const removed: string[] = [];
    for (const name of here.filter((entry) => /^\d+-[0-9a-f]{12}$/.test(entry) && !there.has(entry)))
      if ((await entriesOf(folderOf(name))).includes(fetchedName)) removed.push(name);
    for (const name of here.filter((entry) => entry.startsWith(temporaryPrefix)))
      if (await isOlder(folderOf(name), LEFTOVER_MS)) removed.push(name);
    for (const name of removed) await rm(folderOf(name), { recursive: true, force: true });
    return removed;
  };

  return {
    folder: place,
    names,
    fetch,
    tidy,
    list,
    attempts: local.attempts.bind(local),
    has: (name) => bucket.has(keys.manifest(name)),
    // a checkpoint is written to the folder first: while the bucket is away, it waits there for its upload
    isPresent: () => local.isPresent(),
    commit: async (name, content, model) => {
      const { won, checkpoint } = await local.commit(name, content, model);
      const published = await publish(name);
      return { won: won && published, checkpoint: published ? checkpoint : await local.read(name) };
    },
    complete: async (name) => {
      if (!(await local.has(name)) || (await bucket.has(keys.manifest(name)))) return;
      try {
        await local.read(name);
      } catch (error) {
        if (!(error instanceof CheckpointDamaged)) throw error;
        await local.setAside(name, { foreign: true }); // it is trained again
        return;
      }
      await publish(name);
    },
    read: async (name): Promise<StoredCheckpoint> => {
      await fetch(name);
      return local.read(name);
    },
    setAside: async (kept, { foreign }) => {
      const version = kept.slice(0, kept.indexOf('-') + 1);
      const others = (await names()).filter((name) => name.startsWith(version) && (foreign || name !== kept));
      const moved: string[] = [];
      for (const name of others) {
        const manifest = await manifestOf(name);
        if (manifest === undefined) continue; // another trainer was first
        const aside = `${name}-${randomUUID().slice(0, 8)}`;
        await bucket.put(keys.aside(aside), manifestContent(manifest));
        await bucket.remove(keys.manifest(name));
        moved.push(aside);
      }
      await local.setAside(kept, { foreign });
      return moved;
    },
    prune: async (retention, before = async () => {}) => {
      const checkpoints = await list();
      const gone = prunable(checkpoints, retention);
      const released = checkpoints.filter(({ name }) => gone.includes(name));
      const kept = new Set(checkpoints.map(({ state: { optimizer } }) => optimizer?.path));
      const here = await local.prune(retention, ({ notes }) =>
        before({ released, notes: notes.filter((path) => !kept.has(path)) }),
      );
      for (const name of gone) await removeCheckpoint(name);
      const attempts = here.filter((name) => name.endsWith(attemptsSuffix));
      return [...gone, ...attempts, ...(await removeLeftovers())];
    },
    removeAside: async (limit, before = async () => {}, now = Date.now()) => {
      const all = await asides(now);
      const excess = excessOf(all, limit, now);
      const going = new Set(excess.map(({ path }) => path));
      const [gone, stay] = [
        all.filter(({ path }) => going.has(path)),
        all.filter(({ path }) => !going.has(path)),
      ];
      const kept = [...(await list()), ...stay.map(({ manifest }) => manifest)];
      if (gone.length > 0)
        await before(
          elsewhere(
            gone.map(({ manifest }) => manifest.state),
            kept.map(({ state }) => state),
          ),
        );
      // The objects go as leftovers, unless a committed manifest names them: a set-aside may have been cut off.
      for (const { path } of gone) await bucket.remove(path);
      const here = await local.removeAside(limit, undefined, now);
      return [...excess.map(({ path, bytes, since, reason }) => ({ path, bytes, since, reason })), ...here];
    },
    problem: async (holdsVersions) => {
      try {
        if (await bucket.has(keys.marker)) return local.problem(false);
        const mine = (await local.list()).map(({ name }) => name);
        if (holdsVersions && mine.length === 0 && (await names()).length === 0)
          return (
            `${place} is empty, but the log has versions whose checkpoints were there. Correct --checkpoints or ` +
            'restore the bucket, or store an empty object store.json there if the checkpoints are lost'
          );
        for (const name of mine) {
          await local.read(name);
          await publish(name);
        }
        const unusable = await markStore(bucket, keys.marker);
        return unusable ?? local.problem(false);
      } catch (error) {
        return `${place} cannot be used: ${(error as Error).message}`;
      }
    },
  };
}

/** A store that ignores the condition would let a second writer replace the first one's checkpoint. */
async function markStore(bucket: Bucket, key: string): Promise<string | undefined> {
  const content = textContent('{"format":1,"holds":"checkpoints of ClawLoop"}\n');
  await bucket.put(key, content, { ifAbsent: true });
  if (!(await bucket.put(key, content, { ifAbsent: true }))) return undefined;
  await bucket.remove(key);
  return `${bucket.name} ignores If-None-Match, so two writers could replace each other's checkpoints: use another object storage`;
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > ms;
}
