import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readlink, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { isCommit } from './hub-answers.ts';
import type { HubId } from './hub-id.ts';
import { missingFiles } from './needed-files.ts';

/**
 * The cache that Hugging Face's tools share (huggingface.co/docs/huggingface_hub, "Understand caching"):
 * bytes once under `blobs`, named by digest; `snapshots/COMMIT/PATH` links to them; `refs/BRANCH` holds a
 * commit.
 */
export const cacheOf = (root: string, { id, revision }: HubId) => {
  const storage = join(root, `models--${id.replaceAll('/', '--')}`);
  return {
    blob: (digest: string) => join(storage, 'blobs', digest),
    snapshot: (commit: string) => join(storage, 'snapshots', commit),
    ref: join(storage, 'refs', revision),
    /** locked by the one process that fetches this model */
    claim: join(root, '.locks', `models--${id.replaceAll('/', '--')}`, 'clawloop.lock'),
  };
};
export type HubCache = ReturnType<typeof cacheOf>;

/** The folder of a model that is there whole, without asking anybody; undefined: it has to be fetched. */
export function cachedModel(root: string, hubId: HubId): string | undefined {
  const cache = cacheOf(root, hubId);
  const isNamed = !isCommit(hubId.revision) && existsSync(cache.ref);
  const commit = isNamed ? readFileSync(cache.ref, 'utf8').trim() : hubId.revision;
  if (!isCommit(commit)) return undefined;
  const folder = cache.snapshot(commit);
  return existsSync(folder) && isWhole(folder) ? folder : undefined;
}

const ShardIndex = z.looseObject({ weight_map: z.record(z.string(), z.string()) });

/** A link whose blob is gone counts as a file that is not there. */
function isWhole(folder: string): boolean {
  const has = (name: string): boolean => existsSync(join(folder, name));
  if (missingFiles(readdirSync(folder).filter(has)).length > 0) return false;
  const index = join(folder, 'model.safetensors.index.json');
  if (has('model.safetensors') || !existsSync(index)) return true;
  const { weight_map } = ShardIndex.parse(JSON.parse(readFileSync(index, 'utf8')));
  return [...new Set(Object.values(weight_map))].every(has);
}

/**
 * Puts a blob into a snapshot under its name: a relative link, so that the cache can be moved. What has that
 * name already may be anything, and is replaced.
 */
export async function linkBlob(blob: string, path: string): Promise<void> {
  const goal = relative(dirname(path), blob);
  if ((await readlink(path).catch(() => undefined)) === goal) return;
  await mkdir(dirname(path), { recursive: true });
  await replace(path, (to) => symlink(goal, to));
}

/** Written once all of a snapshot is there: a reader finds the old one or the whole new one. */
export async function writeRef(path: string, commit: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replace(path, (to) => writeFile(to, commit));
}

async function replace(path: string, make: (path: string) => Promise<void>): Promise<void> {
  const beside = `${path}.${process.pid}`;
  await make(beside);
  await rename(beside, path);
}
