import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { makeParts } from '../../../shared/runtime/make-folder.ts';
import { using } from './file-errors.ts';
import type { StoredFile } from './manifest.ts';

export type Reading = {
  /** Called with the bytes read since the last call. */
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
};

export type Digest = Pick<StoredFile, 'bytes' | 'sha256'>;

/** bytes per read */
const PIECE = 2 ** 20;

/** Copies a file to a new path, with the missing folders, and flushes it. The digest is of the bytes that were read. */
export const copyFile = (from: string, to: string, reading: Reading): Promise<Digest> =>
  copyPieces(piecesOfFile(from), to, reading);

/** Digest and size of a file. */
export const digestOfFile = (path: string, reading: Reading): Promise<Digest> =>
  digestOfPieces(piecesOfFile(path), reading);

/** Writes a new file, with the missing folders, and flushes it. */
export async function copyPieces(
  from: AsyncIterable<Uint8Array>,
  to: string,
  reading: Reading,
): Promise<Digest> {
  const measured = measure(from, reading);
  let target: FileHandle | undefined;
  try {
    for await (const piece of measured.pieces) {
      // opened after the first piece: a source that does not exist leaves no file
      target ??= await openNew(to);
      await writeAll(target, piece, to);
    }
    target ??= await openNew(to);
    await flushFile(target, to);
  } finally {
    await target?.close();
  }
  return measured.digest();
}

const openNew = (path: string): Promise<FileHandle> =>
  using('write', path, async () => {
    await makeParts(dirname(path));
    return open(path, 'wx', 0o600);
  });

export async function digestOfPieces(from: AsyncIterable<Uint8Array>, reading: Reading): Promise<Digest> {
  const measured = measure(from, reading);
  for await (const _ of measured.pieces);
  return measured.digest();
}

/** Passes pieces on. Their digest is known when all have passed. */
function measure(from: AsyncIterable<Uint8Array>, { onBytes, signal }: Reading) {
  const hash = createHash('sha256');
  let bytes = 0;
  const pass = async function* (): AsyncIterable<Uint8Array> {
    for await (const piece of from) {
      signal.throwIfAborted();
      hash.update(piece);
      yield piece;
      bytes += piece.byteLength;
      onBytes(piece.byteLength);
    }
  };
  return { pieces: pass(), digest: (): Digest => ({ bytes, sha256: hash.digest('hex') }) };
}

/** A piece is valid until the next is asked for. */
async function* piecesOfFile(path: string): AsyncIterable<Uint8Array> {
  const file = await using('read', path, () => open(path, 'r'));
  try {
    const buffer = Buffer.allocUnsafe(PIECE);
    for (;;) {
      const { bytesRead } = await using('read', path, () => file.read(buffer, 0, PIECE));
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

const writeAll = (file: FileHandle, piece: Uint8Array, path: string): Promise<void> =>
  using('write', path, async () => {
    for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
  });

const flushFile = (file: FileHandle, path: string): Promise<void> => using('write', path, () => file.sync());

/** Paths of all files below a folder, relative to it; none if it does not exist. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    },
  );
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** Flushes a folder and the folders below it, so that the names of their files are on the disk. */
export async function flushFolders(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory()).map((one) => join(one.parentPath, one.name));
  for (const path of [...below, folder]) await flush(path);
}

export async function flush(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
