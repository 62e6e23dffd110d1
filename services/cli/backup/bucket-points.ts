import { text } from 'node:stream/consumers';
import { type Bucket, PIECE_BYTES } from '../../../shared/policy/checkpoints/bucket.ts';
import { textContent } from '../../../shared/policy/checkpoints/bucket-manifest.ts';
import { contentOfFile } from '../../../shared/policy/checkpoints/bucket-transfer.ts';
import { NotNow } from '../../../shared/runtime/command-errors.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { copyPieces, digestOfPieces, type Reading } from './copy-file.ts';
import {
  digestOf,
  filesOf,
  type Manifest,
  type PointFile,
  parseManifest,
  type StoredCheckpoint,
  type StoredFile,
  textOfManifest,
} from './manifest.ts';
import { markerName, markerOf, requireMarkerOf } from './marker.ts';
import { sortedIds } from './point-ids.ts';
import { type PointSource, readPoints } from './point-source.ts';
import { surplusPoints } from './points.ts';

/*
 * A backup in a bucket:
 *   clawloop-backup.json   marks the prefix as a backup, and names its log
 *   objects/SHA256.N       a file, in pieces of PIECE_BYTES; equal files are stored once
 *   points/ID              digest and manifest of a point, written last: with it, the point is complete
 */

const POINTS = 'points/';
const OBJECTS = 'objects/';

type Piece = { readonly key: string; readonly start: number; readonly bytes: number };

/** An empty file is one empty piece. */
function piecesOf({ sha256, bytes }: StoredFile): readonly Piece[] {
  const count = Math.max(1, Math.ceil(bytes / PIECE_BYTES));
  return Array.from({ length: count }, (_, index) => {
    const start = index * PIECE_BYTES;
    return { key: `${OBJECTS}${sha256}.${index}`, start, bytes: Math.min(PIECE_BYTES, bytes - start) };
  });
}

const filesIn = (point: Manifest): readonly PointFile[] =>
  filesOf(point, (place, { sha256 }) => `${place}, object ${sha256}`);

/** Points in a bucket. Every call may throw StoreUnavailable. */
export const bucketSource = (bucket: Bucket): PointSource => ({
  name: bucket.name,
  ids: async () => sortedIds((await bucket.list(POINTS)).map(({ key }) => key.slice(POINTS.length))),
  manifest: async (id) => {
    const content = await bucket.get(POINTS + id);
    if (content === undefined) throw new Refusal(`cannot read the point ${id}: there is no such object`);
    const [digest, ...lines] = (await text(content)).split('\n');
    return parseManifest(lines.join('\n'), digest, `${bucket.name}/${POINTS}${id}`);
  },
  filesOf: filesIn,
  digest: (file, reading) => digestOfPieces(contentOf(bucket, file), reading),
  copy: (file, to, reading) => copyPieces(contentOf(bucket, file), to, reading),
  close: bucket.close,
});

async function* contentOf(bucket: Bucket, file: PointFile): AsyncIterable<Uint8Array> {
  for (const { key } of piecesOf(file)) {
    const content = await bucket.get(key);
    if (content === undefined)
      throw new Refusal(
        `the backup is damaged: ${bucket.name} lacks ${key} of ${file.path}. Use another point`,
      );
    yield* content;
  }
}

/** Prepares a prefix for another point of a log. @throws Refusal when it holds something else */
export async function claimPrefix(bucket: Bucket, logId: string): Promise<void> {
  const content = await bucket.get(markerName);
  if (content === undefined) {
    const [other] = await bucket.list('');
    if (other !== undefined)
      throw new Refusal(`${bucket.name} holds other objects, such as ${other.key}: give another prefix`);
    await bucket.put(markerName, textContent(markerOf(logId)), { ifAbsent: true });
    return;
  }
  requireMarkerOf(logId, await text(content), bucket.name);
}

/** Keys of all stored pieces. */
export const storedPieces = async (bucket: Bucket): Promise<ReadonlySet<string>> =>
  new Set((await bucket.list(OBJECTS)).map(({ key }) => key));

export const isStored = ({ files }: StoredCheckpoint, stored: ReadonlySet<string>): boolean =>
  files.every((file) => piecesOf(file).every(({ key }) => stored.has(key)));

/**
 * Uploads the files of a point that the bucket lacks, then its manifest.
 *
 * @param at path of a file of the point on this machine
 * @returns bytes that were uploaded
 * @throws NotNow when another backup has added a point of this id
 */
export async function uploadPoint(
  bucket: Bucket,
  point: Manifest,
  stored: ReadonlySet<string>,
  { at, reading }: { readonly at: (file: PointFile) => string; readonly reading: (what: string) => Reading },
): Promise<number> {
  const done = new Set(stored);
  let uploaded = 0;
  for (const file of filesIn(point))
    for (const { key, start, bytes } of piecesOf(file)) {
      const { signal, onBytes } = reading(file.path);
      signal.throwIfAborted();
      if (!done.has(key)) {
        await bucket.put(key, await contentOfFile(at(file), start, bytes));
        done.add(key);
        uploaded += bytes;
      }
      onBytes(bytes);
    }
  const manifest = textOfManifest(point);
  const content = textContent(`${digestOf(manifest)}\n${manifest}`);
  if (await bucket.put(POINTS + point.point, content, { ifAbsent: true })) return uploaded;
  throw new NotNow(`another backup has added ${point.point} to ${bucket.name}; try again`);
}

/**
 * Removes surplus points, then the objects that no point names.
 * @returns ids of the removed points
 */
export async function removeOldFromBucket(bucket: Bucket, keep: number): Promise<readonly string[]> {
  const source = bucketSource(bucket);
  const all = await readPoints(source);
  const old = surplusPoints(all, keep);
  for (const id of old) await bucket.remove(POINTS + id);
  const points = all.slice(old.length);
  // a point that cannot be read may name any of them
  if (points.some((point) => 'damage' in point)) return old;
  const named = new Set(
    points
      .flatMap((point) => ('manifest' in point ? filesIn(point.manifest) : []))
      .flatMap(piecesOf)
      .map(({ key }) => key),
  );
  for (const key of await storedPieces(bucket)) if (!named.has(key)) await bucket.remove(key);
  return old;
}
