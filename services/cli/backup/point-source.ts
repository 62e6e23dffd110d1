import { join } from 'node:path';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { type BackupFolder, numberOfPoint } from './backup-folder.ts';
import { copyFile, type Digest, digestOfFile, type Reading } from './copy-file.ts';
import { filesOf, type Manifest, type PointFile, readManifest } from './manifest.ts';
import { pointIds } from './point-ids.ts';

/** Where points are read from: a folder, or a bucket. */
export type PointSource = {
  /** as the user gives it */
  readonly name: string;
  /** of the points, oldest first */
  readonly ids: () => Promise<readonly string[]>;
  /** @throws Refusal when the manifest is damaged, or of a newer version */
  readonly manifest: (id: string) => Promise<Manifest>;
  readonly filesOf: (point: Manifest) => readonly PointFile[];
  /** The digest of what is stored. */
  readonly digest: (file: PointFile, reading: Reading) => Promise<Digest>;
  /** Copies what is stored to a new path, and flushes it. The digest is of the bytes that were read. */
  readonly copy: (file: PointFile, to: string, reading: Reading) => Promise<Digest>;
  readonly close: () => Promise<void>;
};

export const folderSource = (folder: BackupFolder): PointSource => ({
  name: folder.root,
  ids: () => pointIds(folder),
  manifest: (id) => readManifest(folder, id),
  filesOf: (point) => filesOf(point, (place) => join(folder.root, place)),
  digest: ({ stored }, reading) => digestOfFile(stored, reading),
  copy: ({ stored }, to, reading) => copyFile(stored, to, reading),
  close: async () => {},
});

/** A point whose manifest can be read, or why it cannot. */
export type Point =
  | { readonly id: string; readonly manifest: Manifest }
  | { readonly id: string; readonly damage: string };

/** Oldest first. */
export async function readPoints({
  ids,
  manifest,
}: Pick<PointSource, 'ids' | 'manifest'>): Promise<readonly Point[]> {
  return Promise.all(
    (await ids()).map(async (id) => {
      try {
        return { id, manifest: await manifest(id) };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { id, damage: error.message };
      }
    }),
  );
}

/** The id of the point that the user names: `latest`, an id, or its number. @throws UsageError */
export async function findPoint(source: PointSource, asked: string): Promise<string> {
  const ids = await source.ids();
  if (ids.length === 0) throw new UsageError(`there is no backup in ${source.name}`);
  const found =
    asked === 'latest'
      ? ids.at(-1)
      : ids.find((id) => id === asked || (/^\d+$/.test(asked) && numberOfPoint(id) === Number(asked)));
  if (found !== undefined) return found;
  throw new UsageError(`no point ${asked} in ${source.name}; see clawloop backup list ${source.name}`);
}
