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

type Digest = Pick<StoredFile, 'bytes' | 'sha256'>;

/** bytes per read */
const PIECE = 2 ** 20;

/** Copies a file to a new path, with the missing folders, and flushes it. The digest is of the bytes that were read. */
export async function copyFile(from: string, to: string, reading: Reading): Promise<Digest> {
  const source = await using('read', from, () => open(from, 'r'));
  try {
    const target = await using('write', to, async () => {
      await makeParts(dirname(to));
      return open(to, 'wx', 0o600);
    });
    try {
      const digest = await digestOf(source, from, reading, (piece) =>
        using('write', to, () => writeAll(target, piece)),
      );
      await using('write', to, () => target.sync());
      return digest;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Digest and size of a file. */
export async function digestOfFile(path: string, reading: Reading): Promise<Digest> {
  const file = await using('read', path, () => open(path, 'r'));
  try {
    return await digestOf(file, path, reading, async () => {});
  } finally {
    await file.close();
  }
}

async function digestOf(
  file: FileHandle,
  path: string,
  { onBytes, signal }: Reading,
  onPiece: (piece: Uint8Array) => Promise<void>,
): Promise<Digest> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(PIECE);
  for (let bytes = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await using('read', path, () => file.read(buffer, 0, PIECE));
    if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    await onPiece(piece);
    bytes += bytesRead;
    onBytes(bytesRead);
  }
}

async function writeAll(file: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
}

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
