import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { pause } from '../lang/async.ts';
import { HubRefused, isOfThisMachine, isRefusedByHub } from './errors.ts';
import type { HubFile } from './needed-files.ts';

export type FetchFileOptions = {
  /** Reads the file from offset `from`. Called again for every try, because CDN addresses expire. */
  readonly read: (from: number, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;
  /** Reports the bytes of this file on disk. */
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
  /** ms before the first retry; doubles with each try that brings nothing */
  readonly retryMs: number;
  /** ms without a byte after which a try is given up */
  readonly idleMs: number;
};

/** tries in a row without progress before giving up */
const MOST_VAIN_TRIES = 5;

/**
 * Downloads a file to `blob`, resuming an earlier try or process. The file gets its final name only when its
 * digest matches. An existing blob, which may come from another tool, is verified and replaced if it differs.
 * Throws the error of the last try, HubRefused on a wrong digest, or the signal's reason when aborted.
 */
export async function fetchFile(file: HubFile, blob: string, options: FetchFileOptions): Promise<void> {
  if (existsSync(blob) && (await digestOf(blob, file)) === file.digest.value)
    return options.onBytes(file.size);
  await mkdir(dirname(blob), { recursive: true });
  const part = `${blob}.incomplete`;
  for (let isRetry = false; ; isRetry = true) {
    await fill(part, file, options);
    if ((await digestOf(part, file)) === file.digest.value) break;
    await rm(part);
    // an old part may be damaged; a complete new download is not
    if (isRetry)
      throw new HubRefused(`${file.path}: the download does not match the digest that the hub lists`);
  }
  await rename(part, blob);
}

/** Appends until the size matches. */
async function fill(part: string, file: HubFile, options: FetchFileOptions): Promise<void> {
  for (let vain = 0; ; ) {
    const before = await sizeOf(part);
    if (before > file.size) await rm(part);
    else if (before === file.size && existsSync(part)) return;
    else {
      const failure = await append(part, before, file, options);
      options.signal.throwIfAborted();
      if (failure === undefined) continue;
      if (failure instanceof HubRefused || isRefusedByHub(failure) || isOfThisMachine(failure)) throw failure;
      vain = (await sizeOf(part)) > before ? 0 : vain + 1;
      if (vain === MOST_VAIN_TRIES) throw failure;
      await pause(options.retryMs * 2 ** vain, options.signal);
      options.signal.throwIfAborted();
    }
  }
}

/** One try. Resolves to the error that ended it early, if any. */
async function append(
  part: string,
  from: number,
  file: HubFile,
  { read, onBytes, signal, idleMs }: FetchFileOptions,
): Promise<unknown> {
  const idle = new AbortController();
  const silence = () => idle.abort(new Error(`no data for ${idleMs / 1000} s`));
  let timer = setTimeout(silence, idleMs);
  const output = await open(part, 'a');
  let done = from;
  onBytes(done);
  try {
    if (file.size === 0) return undefined;
    const either = AbortSignal.any([signal, idle.signal]);
    for await (const chunk of await read(from, either)) {
      clearTimeout(timer);
      timer = setTimeout(silence, idleMs);
      await output.appendFile(chunk.subarray(0, file.size - done));
      done = Math.min(file.size, done + chunk.length);
      onBytes(done);
      if (done === file.size) break;
    }
    await output.sync();
    return done === file.size
      ? undefined
      : new Error(`the connection ended after ${done} of ${file.size} bytes`);
  } catch (error) {
    return idle.signal.aborted ? idle.signal.reason : error;
  } finally {
    clearTimeout(timer);
    await output.close();
  }
}

const sizeOf = async (path: string): Promise<number> => (existsSync(path) ? (await stat(path)).size : 0);

async function digestOf(path: string, { size, digest }: HubFile): Promise<string> {
  const hash = createHash(digest.type === 'git' ? 'sha1' : 'sha256');
  if (digest.type === 'git') hash.update(`blob ${size}\0`);
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
