import { z } from 'zod';
import { HubRefused } from './errors.ts';
import type { HubId } from './hub-id.ts';
import { type HubFile, neededFiles } from './needed-files.ts';

const COMMIT = /^[0-9a-f]{40}$/;

/** Whether a revision is itself a commit, and no branch or tag. */
export const isCommit = (revision: string): boolean => COMMIT.test(revision);

/**
 * The commit that the hub names for a revision. It becomes a folder's name.
 * @throws HubRefused where it is no commit, or another one than the revision is
 */
export function commitOf({ id, revision }: HubId, sha: unknown): string {
  if (typeof sha !== 'string' || !isCommit(sha))
    throw new HubRefused(`${id}: the hub names a commit that is none: ${shown(sha)}`);
  if (isCommit(revision) && sha !== revision)
    throw new HubRefused(`${id}: asked for commit ${revision}, the hub answers with ${sha}`);
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
 * The files that a model is loaded from, out of the hub's list. Digests become file names.
 * @throws HubRefused where one of them is listed without a proper size and digest, or twice
 */
export function filesOf({ id }: HubId, listed: readonly unknown[]): readonly HubFile[] {
  const named = listed.flatMap((entry) => {
    const found = Named.safeParse(entry);
    return found.success ? [found.data] : [];
  });
  const needed = neededFiles(named);
  const paths = new Set(needed.map(({ path }) => path));
  if (paths.size < needed.length) throw new HubRefused(`${id}: the hub lists a file twice`);
  return needed.map((entry): HubFile => {
    const found = Entry.safeParse(entry);
    if (!found.success) {
      const [issue] = found.error.issues;
      throw new HubRefused(`${id}: the hub lists ${entry.path} with a wrong ${issue?.path.join('.')}`);
    }
    const { path, size, oid, lfs } = found.data;
    return lfs == null
      ? { path, size, digest: { type: 'git', value: oid } }
      : { path, size, digest: { type: 'sha256', value: lfs.oid } };
  });
}

const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, 100);
