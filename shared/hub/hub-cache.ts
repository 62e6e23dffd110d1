import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readlink, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { isCommit } from './hub-answers.ts';
import type { HubId } from './hub-id.ts';
import { missingFiles } from './needed-files.ts';

/**
 * Layout of the cache that Hugging Face's tools share (huggingface.co/docs/huggingface_hub, "Understand
 * caching"): `blobs` holds files by digest, `snapshots/COMMIT/PATH` links to them, `refs/BRANCH` names a commit.
 */
export const cacheOf = (root: string, { id, revision }: HubId) => {
  const storage = join(root, `models--${id.replaceAll('/', '--')}`);
  return {
    blob: (digest: string) => join(storage, 'blobs', digest),
    snapshot: (commit: string) => join(storage, 'snapshots', commit),
    ref: join(storage, 'refs', revision),
    /** locked by the process that fetches this model */
    claim: join(root, '.locks', `models--${id.replaceAll('/', '--')}`, 'clawloop.lock'),
  };
};
export type HubCache = ReturnType<typeof cacheOf>;

/** Folder of a complete model in the cache; undefined: it must be downloaded. */
export function cachedModel(root: string, hubId: HubId): string | undefined {
  const cache = cacheOf(root, hubId);
  const isNamed = !isCommit(hubId.revision) && existsSync(cache.ref);
  const commit = isNamed ? readFileSync(cache.ref, 'utf8').trim() : hubId.revision;
  if (!isCommit(commit)) return undefined;
  const folder = cache.snapshot(commit);
  return existsSync(folder) && isComplete(folder) ? folder : undefined;
}

const ShardIndex = z.looseObject({ weight_map: z.record(z.string(), z.string()) });

/** Whether all files are present. A link without its blob counts as missing. */
function isComplete(folder: string): boolean {
  const has = (name: string): boolean => existsSync(join(folder, name));
  if (missingFiles(readdirSync(folder).filter(has)).length > 0) return false;
  const index = join(folder, 'model.safetensors.index.json');
  if (has('model.safetensors') || !existsSync(index)) return true;
  const { weight_map } = ShardIndex.parse(JSON.parse(readFileSync(index, 'utf8')));
  return [...new Set(Object.values(weight_map))].every(has);
}

/** Links a blob into a snapshot, replacing an existing file. The link is relative, so that the cache can be moved. */
export async function linkBlob(blob: string, path: string): Promise<void> {
  const target = relative(dirname(path), blob);
  if ((await readlink(path).catch(() => undefined)) === target) return;
  await mkdir(dirname(path), { recursive: true });
  await replace(path, (to) => symlink(target, to));
}

/** Call this after the snapshot is complete: readers then find either the old or the complete new one. */
export async function writeRef(path: string, commit: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replace(path, (to) => writeFile(to, commit));
}

async function replace(path: string, make: (path: string) => Promise<void>): Promise<void> {
  const beside = `${path}.${process.pid}`;
  await make(beside);
  await rename(beside, path);
}
