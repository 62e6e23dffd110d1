import { z } from 'zod';
import { HubRefused } from './errors.ts';
import type { HubId } from './hub-id.ts';
import { type HubFile, neededFiles } from './needed-files.ts';

const COMMIT = /^[0-9a-f]{40}$/;

/** Whether a revision is a commit, not a branch or tag. */
export const isCommit = (revision: string): boolean => COMMIT.test(revision);

/**
 * Validates the commit that the hub names for a revision; it becomes a folder name.
 * @throws HubRefused when it is not a commit, or differs from the requested one
 */
export function commitOf({ id, revision }: HubId, sha: unknown): string {
  if (typeof sha !== 'string' || !isCommit(sha))
    throw new HubRefused(`${id}: the hub names an invalid commit: ${shown(sha)}`);
  if (isCommit(revision) && sha !== revision)
    throw new HubRefused(`${id}: asked for commit ${revision}, but the hub answers with ${sha}`);
  return sha;
}

const SHA1 = /^[0-9a-f]{40}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const Entry = z.object({
  path: z.string(),
  size: z.int().min(0),
  oid: z.string().regex(SHA1),
  lfs: z.object({ oid: z.string().regex(SHA256), size: z.int().min(0) }).nullish(),
});
const Named = z.looseObject({ type: z.literal('file'), path: z.string() });

/**
 * Picks the files that are needed to load a model from the hub's list. Digests become file names.
 * @throws HubRefused when a file is listed twice, or without a valid size and digest
 */
export function filesOf({ id }: HubId, listed: readonly unknown[]): readonly HubFile[] {
  const named = listed.flatMap((entry) => {
    const parsed = Named.safeParse(entry);
    return parsed.success ? [parsed.data] : [];
  });
  const needed = neededFiles(named);
  const paths = new Set(needed.map(({ path }) => path));
  if (paths.size < needed.length) throw new HubRefused(`${id}: the hub lists a file twice`);
  return needed.map((entry): HubFile => {
    const parsed = Entry.safeParse(entry);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new HubRefused(`${id}: the hub lists ${entry.path} with an invalid ${issue?.path.join('.')}`);
    }
    const { path, size, oid, lfs } = parsed.data;
    return lfs == null
      ? { path, size, digest: { type: 'git', value: oid } }
      : { path, size, digest: { type: 'sha256', value: lfs.oid } };
  });
}

const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, 100);
