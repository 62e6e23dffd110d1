import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { unpackTar } from 'modern-tar';
import { adapterFileNames } from '../policy/checkpoints/adapter-files.ts';
import { TinkerError } from './errors.ts';

/** Bytes of an adapter: rank 32 on a model of 70 billion weights has 1.6 GB in f32. */
export const MOST_ADAPTER_BYTES = 2 ** 31;

const unzip = promisify(gunzip);

/**
 * The files of an adapter in a tar or tar.gz archive, in memory. Other files are left out. A name's folder is ignored,
 * so no name leads out of a folder.
 *
 * @throws BAD_ADAPTER if the archive is damaged or too large, or lacks a file
 */
export async function readAdapterArchive(
  archive: Uint8Array,
  most = MOST_ADAPTER_BYTES,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const isZipped = archive[0] === 0x1f && archive[1] === 0x8b;
  try {
    const tar = isZipped ? await unzip(archive, { maxOutputLength: most }) : archive;
    const entries = await unpackTar(tar, { strict: true });
    const files = new Map<string, Uint8Array>();
    for (const { header, data } of entries) {
      const name = header.name.split('/').at(-1)!;
      if (header.type !== 'file' || data === undefined || !adapterFileNames.includes(name)) continue;
      if (files.has(name)) throw new Error(`${name} occurs twice`);
      files.set(name, data);
    }
    return wholeAdapter(files);
  } catch (error) {
    throw TinkerError.BAD_ADAPTER({ detail: (error as Error).message });
  }
}

/** @throws BAD_ADAPTER if a file is missing or empty */
export function wholeAdapter(files: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, Uint8Array> {
  for (const name of adapterFileNames)
    if ((files.get(name)?.byteLength ?? 0) === 0)
      throw TinkerError.BAD_ADAPTER({ detail: `${name} is missing` });
  return files;
}
