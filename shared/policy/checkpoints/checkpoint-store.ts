import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { leftoversIn } from '../../lang/leftover-files.ts';
import { type Excess, excessOf, type LeftoverLimit } from '../../lang/leftovers.ts';
import { type Attempts, attemptsSuffix, openAttempts } from './attempts.ts';
import {
  CheckpointDamaged,
  flush,
  readCheckpoint,
  readState,
  type StoredCheckpoint,
  writeCheckpoint,
} from './checkpoint-files.ts';
import { entriesOf } from './folder-entries.ts';
import { prunable, type Retention } from './prune.ts';
import type { CheckpointContent, CheckpointState, CheckpointSummary } from './state.ts';

export { CheckpointDamaged, type StoredCheckpoint };

/** Result of a commit; `won` is false if another writer committed the checkpoint first. */
type Commit = { readonly won: boolean; readonly checkpoint: StoredCheckpoint };

/** What is about to be removed. */
export type Pruned = {
  readonly released: readonly CheckpointSummary[];
  /** of the attempts at settled batches, but for the state of a committed checkpoint */
  readonly notes: readonly string[];
};

/** The checkpoints of one adapter: in a folder, which may be absent (then there are none), or in a bucket. */
export type CheckpointStore = {
  /** where they are: a folder, or an address for messages */
  readonly folder: string;
  /**
   * Commits a checkpoint under `name`, completely or not at all: it is written next to its final place,
   * flushed to disk and renamed. Renaming onto a folder with contents fails, so that the first of two writers
   * wins; the other discards its work and gets the winner's checkpoint.
   *
   * @param model see writeCheckpoint
   */
  commit(name: string, content: CheckpointContent, model: string): Promise<Commit>;
  /** Finishes a commit that was cut off after the checkpoint was written on this host. */
  complete(name: string): Promise<void>;
  /** Reads a committed checkpoint and checks its digest. @throws CheckpointDamaged */
  read(name: string): Promise<StoredCheckpoint>;
  /** Whether a checkpoint of this name was committed. */
  has(name: string): Promise<boolean>;
  /** All committed checkpoints by version, without their tensors; unreadable ones are left out. */
  list(): Promise<readonly CheckpointSummary[]>;
  /**
   * Renames the checkpoints that have the version number of `kept` under another name, and `kept` itself if
   * `foreign` is true. They were made from other batches, which happens after the log was restored. Deletes
   * nothing. Returns the new names.
   */
  setAside(kept: string, options: { readonly foreign: boolean }): Promise<readonly string[]>;
  /**
   * Removes the checkpoints that the retention rule releases, the attempts at settled batches, and leftovers of crashed
   * writers. Returns names.
   *
   * @param before removes what all these have elsewhere; if it rejects, nothing is removed
   */
  prune(retention: Retention, before?: (pruned: Pruned) => Promise<void>): Promise<readonly string[]>;
  /**
   * Removes checkpoints that were set aside, as far as they exceed the limit, the oldest first.
   *
   * @param before removes the states that these have elsewhere; if it rejects, nothing is removed
   * @param now ms since 1970
   */
  removeAside(
    limit: LeftoverLimit,
    before?: (paths: readonly string[]) => Promise<void>,
    now?: number,
  ): Promise<readonly Excess[]>;
  /** The attempts at the step that makes this checkpoint. */
  attempts(name: string): Attempts;
  /**
   * Why the store cannot be used; undefined if it can. Marks a new store, and one that has checkpoints but no
   * marker, as a store.
   *
   * @param holdsVersions whether the log knows a version that has a checkpoint here
   */
  problem(holdsVersions: boolean): Promise<string | undefined>;
  /** Whether the store that `problem` found usable is still there. */
  isPresent(): Promise<boolean>;
};

const namePattern = /^\d+-[0-9a-f]{12}$/;
const temporaryPrefix = '.tmp-';
const asidePrefix = '.aside-';
/** In every store, so that an empty folder in place of a mount is not taken for a new store. */
const markerName = '.store';
/** ms after which an unfinished write is abandoned; writing takes seconds. */
const LEFTOVER_MS = 60 * 60 * 1000;

/** The folder name of a batch's checkpoint: its number, and the start of the digest of the whole batch. */
export const checkpointName = (version: number, batchDigest: string): string =>
  `${version}-${batchDigest.slice(0, 12)}`;

export const openCheckpointStore = (folder: string): CheckpointStore => new FolderStore(folder);

class FolderStore implements CheckpointStore {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async commit(name: string, content: CheckpointContent, model: string): Promise<Commit> {
    const folder = join(this.folder, name);
    const temporary = join(this.folder, `${temporaryPrefix}${name}-${randomUUID()}`);
    await mkdir(temporary, { recursive: true });
    let won = true;
    try {
      await writeCheckpoint(temporary, content, model);
      await rename(temporary, folder);
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      if (!isOccupied(error)) throw error;
      won = false;
    }
    await flush(this.folder);
    return { won, checkpoint: won ? { ...content, name, folder } : await readCheckpoint(folder) };
  }

  async complete(): Promise<void> {} // a rename is never cut off

  read(name: string): Promise<StoredCheckpoint> {
    return readCheckpoint(join(this.folder, name));
  }

  async has(name: string): Promise<boolean> {
    return (await this.#names()).includes(name);
  }

  async list(): Promise<readonly CheckpointSummary[]> {
    const summaries = await Promise.all(
      (await this.#names()).map(async (name): Promise<readonly CheckpointSummary[]> => {
        try {
          return [{ name, state: await readState(join(this.folder, name)) }];
        } catch {
          return [];
        }
      }),
    );
    return summaries.flat().sort((a, b) => a.state.version - b.state.version);
  }

  async setAside(kept: string, { foreign }: { readonly foreign: boolean }): Promise<readonly string[]> {
    const version = kept.slice(0, kept.indexOf('-') + 1);
    const names = await this.#names();
    const others = names.filter((name) => name.startsWith(version) && (foreign || name !== kept));
    const moved = await Promise.all(
      others.map(async (name) => {
        const aside = `${asidePrefix}${name}-${randomUUID().slice(0, 8)}`;
        try {
          await rename(join(this.folder, name), join(this.folder, aside));
          return [aside];
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // another trainer was first
          throw error;
        }
      }),
    );
    return moved.flat();
  }

  async prune(
    retention: Retention,
    before: (pruned: Pruned) => Promise<void> = async () => {},
  ): Promise<readonly string[]> {
    const checkpoints = await this.list();
    const committed = new Set(checkpoints.map(({ name }) => name + attemptsSuffix));
    const removed = [...prunable(checkpoints, retention)];
    const released = checkpoints.filter(({ name }) => removed.includes(name));
    const kept = new Set(checkpoints.map(({ state: { optimizer } }) => optimizer?.path));
    const notes: string[] = [];
    const entries = await entriesOf(this.folder);
    for (const name of entries) {
      // beside a checkpoint that cannot be read, the notes may name the state that it needs
      const hasNone = !entries.includes(name.slice(0, -attemptsSuffix.length));
      const isOver = committed.has(name) || (hasNone && Number.parseInt(name, 10) <= retention.settled);
      if (name.endsWith(attemptsSuffix) && isOver) {
        notes.push(...(await openAttempts(join(this.folder, name)).notes()));
        removed.push(name);
      }
      if (name.startsWith(temporaryPrefix) && (await isOlder(join(this.folder, name), LEFTOVER_MS)))
        removed.push(name);
    }
    await before({ released, notes: notes.filter((path) => !kept.has(path)) });
    for (const name of removed) await rm(join(this.folder, name), { recursive: true, force: true });
    return removed;
  }

  async removeAside(
    limit: LeftoverLimit,
    before: (paths: readonly string[]) => Promise<void> = async () => {},
    now = Date.now(),
  ): Promise<readonly Excess[]> {
    const aside = await leftoversIn(this.folder, (name) => name.startsWith(asidePrefix));
    const excess = excessOf(aside, limit, now);
    if (excess.length === 0) return [];
    const going = new Set(excess.map(({ path }) => path));
    const stay = aside.flatMap(({ path }) => (going.has(path) ? [] : [path]));
    const kept = await this.list();
    await before(
      elsewhere((await Promise.all([...going].map(stateIfReadable))).flat(), [
        ...kept.map(({ state }) => state),
        ...(await Promise.all(stay.map(stateIfReadable))).flat(),
      ]),
    );
    for (const path of going) await rm(path, { recursive: true, force: true });
    return excess;
  }

  attempts(name: string): Attempts {
    return openAttempts(join(this.folder, name + attemptsSuffix));
  }

  async problem(holdsVersions: boolean): Promise<string | undefined> {
    const { folder } = this;
    try {
      if (await this.isPresent()) return undefined;
      const entries = (await exists(folder)) ? await entriesOf(folder) : [];
      if (holdsVersions && !entries.some((name) => /^\d/.test(name)))
        return (
          `${folder} is ${entries.length === 0 ? 'empty or missing' : 'not the store'}, but the log has versions ` +
          `whose checkpoints were there. Restore the folder, or create the file ${markerName} in it if the ` +
          'checkpoints are lost'
        );
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, markerName), 'checkpoints of ClawLoop are kept here\n');
      return undefined;
    } catch (error) {
      return `${folder} cannot be read: ${(error as Error).message}`;
    }
  }

  isPresent(): Promise<boolean> {
    return exists(join(this.folder, markerName));
  }

  async #names(): Promise<readonly string[]> {
    return (await entriesOf(this.folder)).filter((name) => namePattern.test(name));
  }
}

/** None if it is damaged. */
const stateIfReadable = (folder: string): Promise<readonly CheckpointState[]> =>
  readState(folder).then(
    (state) => [state],
    () => [],
  );

/** Where states are that only these checkpoints have, on a training server. */
export function elsewhere(
  going: readonly CheckpointState[],
  kept: readonly CheckpointState[],
): readonly string[] {
  const needed = new Set(kept.map(({ optimizer }) => optimizer?.path));
  return going.flatMap(({ optimizer }) =>
    optimizer === undefined || needed.has(optimizer.path) ? [] : [optimizer.path],
  );
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > ms;
  } catch {
    return false; // its writer has just renamed it
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

const isOccupied = (error: unknown): boolean =>
  ['EEXIST', 'ENOTEMPTY', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
