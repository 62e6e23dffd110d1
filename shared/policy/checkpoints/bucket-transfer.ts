import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Bucket, type ObjectContent, PIECE_BYTES } from './bucket.ts';
import { type BucketManifest, keysOf, manifestContent, type Piece, readManifest } from './bucket-manifest.ts';
import { CheckpointDamaged, flush, readState } from './checkpoint-files.ts';

/** In a folder that came from the bucket: it may be removed when the bucket has no such checkpoint any more. */
export const fetchedName = '.fetched';

/**
 * Uploads a checkpoint's folder: its files under new keys, then the manifest, unless the bucket has one of this name.
 * Reads each file twice and holds none in memory.
 *
 * @returns whether this upload committed the checkpoint
 */
export async function uploadCheckpoint(
  bucket: Bucket,
  adapter: string,
  folder: string,
  { name, pieceBytes = PIECE_BYTES }: { readonly name: string; readonly pieceBytes?: number },
): Promise<boolean> {
  const keys = keysOf(adapter);
  const upload = `${name}-${randomUUID()}`;
  const files: BucketManifest['files'] = [];
  for (const path of (await readdir(folder)).toSorted()) {
    if (path === fetchedName) continue;
    const pieces: Piece[] = [];
    const { size } = await stat(join(folder, path));
    for (let start = 0; start < size; start += pieceBytes) {
      const bytes = Math.min(pieceBytes, size - start);
      const content = await contentOfFile(join(folder, path), start, bytes);
      const piece = {
        key: `${keys.upload(upload)}${path}.${pieces.length}`,
        bytes,
        sha256: content.sha256,
      };
      await bucket.put(piece.key, content);
      pieces.push(piece);
    }
    files.push({ path, pieces });
  }
  const state = await readState(folder);
  const manifest: BucketManifest = { format: 1, name, upload, state, files };
  const isCommitted = await bucket.put(keys.manifest(name), manifestContent(manifest), { ifAbsent: true });
  if (isCommitted) return true;
  // a repeated request may meet the manifest of its first try
  const winner = await readManifest(bucket, keys.manifest(name));
  if (winner?.upload === upload) return true;
  await removeObjects(bucket, files);
  return false;
}

export async function removeObjects(bucket: Bucket, files: BucketManifest['files']): Promise<void> {
  for (const { pieces } of files) for (const { key } of pieces) await bucket.remove(key);
}

/**
 * Downloads a checkpoint and puts it in its folder, completely or not at all. If the folder exists by then, another
 * process was first.
 *
 * @throws CheckpointDamaged when an object is missing, or its bytes are not those that were uploaded
 */
export async function downloadCheckpoint(
  bucket: Bucket,
  { name, files }: BucketManifest,
  { folder, temporary }: { readonly folder: string; readonly temporary: string },
): Promise<void> {
  await mkdir(temporary, { recursive: true });
  try {
    for (const { path, pieces } of files) {
      const target = await open(join(temporary, path), 'wx');
      try {
        for (const piece of pieces)
          for await (const part of checked(bucket, name, piece)) await target.writeFile(part);
        await target.sync();
      } finally {
        await target.close();
      }
    }
    await writeFile(join(temporary, fetchedName), '');
    await flush(temporary);
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (!isOccupied(error)) throw error;
  }
}

async function* checked(
  bucket: Bucket,
  name: string,
  { key, bytes, sha256 }: Piece,
): AsyncIterable<Uint8Array> {
  const damaged = (how: string) =>
    new CheckpointDamaged(`the checkpoint ${name} is damaged: the object ${bucket.name}/${key} ${how}`);
  const content = await bucket.get(key);
  if (content === undefined) throw damaged('is missing');
  const hash = createHash('sha256');
  let size = 0;
  for await (const part of content) {
    hash.update(part);
    size += part.byteLength;
    yield part;
  }
  if (size !== bytes || hash.digest('hex') !== sha256) throw damaged('has other bytes than were uploaded');
}

/** Whether a folder has exactly the bytes of a checkpoint in the bucket. */
export async function isSameCheckpoint(folder: string, { files }: BucketManifest): Promise<boolean> {
  try {
    for (const { path, pieces } of files) {
      const whole = join(folder, path);
      let start = 0;
      for (const { bytes, sha256 } of pieces) {
        if ((await sha256Of(createReadStream(whole, { start, end: start + bytes - 1 }))) !== sha256)
          return false;
        start += bytes;
      }
      if ((await stat(whole)).size !== start) return false;
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** The content of an object that is a part of a file, which must not change meanwhile. */
export async function contentOfFile(path: string, start: number, bytes: number): Promise<ObjectContent> {
  // the end of a stream is included, so a stream of no bytes cannot be asked for
  const open = () =>
    bytes === 0 ? Readable.from([]) : createReadStream(path, { start, end: start + bytes - 1 });
  return { bytes, sha256: await sha256Of(open()), open };
}

async function sha256Of(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of content) hash.update(part);
  return hash.digest('hex');
}

const isOccupied = (error: unknown): boolean =>
  ['EEXIST', 'ENOTEMPTY', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
