import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { adapterName } from '../../../shared/config/common.ts';
import { topics } from '../../../shared/events/define-event.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { writeDurably } from '../../../shared/runtime/write-durably.ts';
import { type BackupFolder, checksumName, manifestName } from './backup-folder.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const offset = z.int().min(0);

/** A restore writes to these paths, so none may lead out of its folder. */
const pathInside = z
  .string()
  .refine(
    (path) => path.split('/').every((part) => !['', '.', '..'].includes(part)) && !/[\\\0]/.test(path),
    'a path inside the folder',
  );

const storedFile = z.object({ path: pathInside, bytes: z.int().min(0), sha256 });
export type StoredFile = z.output<typeof storedFile>;

const storedCheckpoint = z.object({
  adapter: adapterName,
  version: z.int().min(1),
  name: z
    .string()
    .regex(/^[\w-]+$/)
    .describe('folder name in the checkpoint store'),
  digest: sha256.describe('that the log names'),
  place: pathInside.describe('below the backup folder'),
  files: z.array(storedFile).describe('paths below the place'),
});
export type StoredCheckpoint = z.output<typeof storedCheckpoint>;

/** `manifest.json` of a point. Its heads are those that `clawloop audit --heads` takes. */
const manifest = z.object({
  format: z.literal(1),
  point: z.string(),
  time: z.iso.datetime(),
  logId: z.string(),
  heads: z
    .array(
      z.object({
        topic: z.enum(topics),
        partition: z.int().min(0),
        from: offset,
        to: offset,
        head: z.string(),
      }),
    )
    .describe('range and last link of the chain of each partition'),
  records: z.int().min(0).optional().describe('of the log; absent: one per offset of the heads'),
  versions: z.record(adapterName, z.int().min(0)).describe('the head of each adapter that has trained'),
  files: z.array(storedFile).describe('of the data folder, but for checkpoints; paths below the point'),
  checkpoints: z.array(storedCheckpoint),
  missing: z
    .array(z.object({ adapter: adapterName, version: z.int(), name: z.string(), why: z.string() }))
    .describe('checkpoints in use that could not be read'),
});
export type Manifest = z.output<typeof manifest>;

/** Writes the manifest into the folder of a point that is not in its place yet. */
export async function writeManifest(folder: string, point: Manifest): Promise<void> {
  const text = textOfManifest(point);
  await writeDurably(join(folder, manifestName), text);
  await writeDurably(join(folder, checksumName), `${digestOf(text)}  ${manifestName}\n`);
}

export const textOfManifest = (point: Manifest): string => `${JSON.stringify(point, null, 2)}\n`;

/** @throws Refusal when the manifest is not as it was written, or of a newer version */
export async function readManifest(folder: BackupFolder, id: string): Promise<Manifest> {
  const read = (name: string) =>
    readFile(join(folder.point(id), name), 'utf8').catch((error: Error) => {
      throw new Refusal(`cannot read the point ${id}: ${error.message}`);
    });
  const text = await read(manifestName);
  const [expected] = (await read(checksumName)).split(' ');
  return parseManifest(text, expected, folder.manifest(id));
}

/**
 * @param expected SHA-256 of the text
 * @param where for messages
 * @throws Refusal when the text is not as it was written, or of a newer version
 */
export function parseManifest(text: string, expected: string | undefined, where: string): Manifest {
  if (expected !== digestOf(text))
    throw new Refusal(`${where} is damaged: it has another digest than was noted`);
  const parsed = manifest.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new Refusal(
    `${where} is not of this version of ClawLoop, or damaged: ${z.prettifyError(parsed.error)}`,
  );
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Records of the log at a point. */
export const recordsIn = ({ heads, records }: Manifest): number =>
  records ?? heads.reduce((sum, { from, to }) => sum + to - from, 0);

export const bytesOf = (files: readonly Pick<StoredFile, 'bytes'>[]): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);

/** A file of a point: `path` below the data folder, `stored` where the backup has it. */
export type PointFile = StoredFile & { readonly stored: string };

/** All files of a point. @param at where a backup has the file at this path below a backup folder */
export const filesOf = (
  { point, files, checkpoints }: Manifest,
  at: (place: string, file: StoredFile) => string,
): readonly PointFile[] => [
  ...files.map((file) => ({ ...file, stored: at(join('points', point, file.path), file) })),
  ...checkpoints.flatMap(({ adapter, name, place, files: own }) =>
    own.map((file) => ({
      ...file,
      stored: at(join(place, file.path), file),
      path: join('checkpoints', adapter, name, file.path),
    })),
  ),
];
