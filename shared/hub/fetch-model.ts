import { mkdir, readFile, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ReadableStream } from 'node:stream/web';
import { downloadFile, listFiles, modelInfo } from '@huggingface/hub';
import { defined } from '../lang/defined.ts';
import { parseModelConfig, UnsupportedModel } from '../policy/model/model-config.ts';
import { claimFileInTurn } from '../runtime/claim.ts';
import type { HubSettings } from './config.ts';
import { HubRefused, isOfThisMachine, isRefusedByHub, refusalOf, unreachable } from './errors.ts';
import { fetchFile } from './fetch-file.ts';
import { commitOf, filesOf } from './hub-answers.ts';
import { cachedModel, cacheOf, type HubCache, linkBlob, writeRef } from './hub-cache.ts';
import { hubFetch, refuseAddress } from './hub-fetch.ts';
import type { HubId } from './hub-id.ts';
import { missingFiles } from './needed-files.ts';

export type Progress = {
  readonly id: string;
  /** the current file */
  readonly path: string;
  /** bytes of all files: on disk, and in total */
  readonly done: number;
  readonly total: number;
};

export type FetchModelOptions = {
  readonly onProgress: (progress: Progress) => void;
  /** Called when this process waits for another one that is fetching the same model. */
  readonly onWaiting: () => void;
  readonly signal: AbortSignal;
  readonly retryMs?: number;
  readonly idleMs?: number;
};

/** ms for the commit and the list of files together */
const LISTING_LIMIT_MS = 60_000;

/**
 * Downloads the newest commit of a model's revision into the cache and resolves to its folder. Existing files
 * are kept. An unsupported model configuration is refused before the weights are downloaded.
 *
 * @throws HubRefused, HubUnreachable; UnsupportedModel from parseModelConfig; file system errors; the signal's
 * reason
 */
export async function fetchModel(
  hub: HubSettings,
  hubId: HubId,
  options: FetchModelOptions,
): Promise<string> {
  refuseAddress(hub);
  const cache = cacheOf(hub.cache, hubId);
  await mkdir(dirname(cache.claim), { recursive: true }).catch((error: Error) => {
    throw new HubRefused(`cannot write to ${hub.cache} (${error.message}); give --hub-cache`);
  });
  let waited = false;
  const onWaiting = () => {
    waited = true;
    options.onWaiting();
  };
  const claim = await claimFileInTurn(cache.claim, onWaiting, options.signal);
  options.signal.throwIfAborted();
  try {
    return (
      (waited ? cachedModel(hub.cache, hubId) : undefined) ?? (await fetchWhole(hub, hubId, cache, options))
    );
  } catch (error) {
    options.signal.throwIfAborted();
    if (isRefusedByHub(error)) throw refusalOf(error, hub, hubId);
    const known = error instanceof HubRefused || error instanceof UnsupportedModel || isOfThisMachine(error);
    throw known ? error : unreachable(hub, hubId, error);
  } finally {
    claim?.release();
  }
}

async function fetchWhole(
  hub: HubSettings,
  hubId: HubId,
  cache: HubCache,
  { onProgress, signal, retryMs = 1_000, idleMs = 30_000 }: FetchModelOptions,
): Promise<string> {
  const { id, revision } = hubId;
  const access = {
    hubUrl: hub.url,
    ...defined({ accessToken: hub.token }),
    fetch: hubFetch(hub, AbortSignal.any([signal, AbortSignal.timeout(LISTING_LIMIT_MS)])),
  };
  const info = await modelInfo({ ...access, name: id, revision, additionalFields: ['sha'] });
  const sha = commitOf(hubId, info.sha);
  const files = filesOf(hubId, await listAll({ ...access, repo: id, revision: sha }));
  const missing = missingFiles(files.map(({ path }) => path));
  if (missing.length > 0)
    throw new HubRefused(`${id} cannot be loaded: the hub has no ${missing.join(', no ')}`);

  const total = files.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  for (const file of files) {
    const { path, size, digest } = file;
    const blob = cache.blob(digest.value);
    await fetchFile(file, blob, {
      signal,
      retryMs,
      idleMs,
      read: async (from, tried) => {
        await checkRoom(hub.cache, total - before - from, id);
        const whole = await downloadFile({
          ...access,
          repo: id,
          path,
          revision: sha,
          xet: false,
          fetch: hubFetch(hub, tried),
        });
        if (whole === null) throw new HubRefused(`${id}: the hub lists ${path} but does not have it`);
        return whole.slice(from).stream() as ReadableStream<Uint8Array>;
      },
      onBytes: (bytes) => onProgress({ id, path, done: before + bytes, total }),
    });
    if (path === 'config.json') checkConfig(hubId, await readFile(blob, 'utf8'));
    await linkBlob(blob, join(cache.snapshot(sha), path));
    before += size;
  }
  if (revision !== sha) await writeRef(cache.ref, sha);
  return cache.snapshot(sha);
}

/** A longer list is not that of a model, and may never end. */
const MOST_LISTED = 100_000;

async function listAll(repository: Parameters<typeof listFiles>[0]): Promise<readonly unknown[]> {
  const entries: unknown[] = [];
  for await (const entry of listFiles(repository)) {
    entries.push(entry);
    if (entries.length > MOST_LISTED) throw new HubRefused(`the hub lists more than ${MOST_LISTED} files`);
  }
  return entries;
}

/** @throws UnsupportedModel; HubRefused when the text is not a configuration */
function checkConfig({ id }: HubId, text: string): void {
  try {
    parseModelConfig(JSON.parse(text));
  } catch (error) {
    if (error instanceof UnsupportedModel) throw error;
    throw new HubRefused(`${id}: cannot read its config.json: ${(error as Error).message}`);
  }
}

async function checkRoom(folder: string, bytes: number, id: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= bytes) return;
  const gigabytes = (count: number) => `${(count / 1e9).toFixed(1)} GB`;
  throw new HubRefused(
    `${id} needs ${gigabytes(bytes)} more in ${folder}, but only ${gigabytes(bavail * bsize)} are free: ` +
      'make room, or give another --hub-cache',
  );
}
