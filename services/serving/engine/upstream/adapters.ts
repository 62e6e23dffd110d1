import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { adapterFileNames } from '../../../../shared/policy/checkpoints/adapter-files.ts';
import type { SourcedVersion } from '../local/load-version.ts';
import { readPromoted } from '../local/load-version.ts';
import type { UpstreamHttp } from './http.ts';
import type { AdapterCalls } from './models.ts';
import { messageOf } from './refusal.ts';

const ModelList = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), root: z.string().nullish(), parent: z.string().nullish() })),
});

type Addresses = { readonly models: string; readonly load: string; readonly unload: string };

const LIST_LIMIT_MS = 10_000;
/** SGLang finishes the answers of an adapter before it unloads it. */
const LOAD_LIMIT_MS = 120_000;

/**
 * Loads and unloads adapters: vLLM under /v1 (with VLLM_ALLOW_RUNTIME_LORA_UPDATING), SGLang at the root. Both
 * take `lora_name` and `lora_path`.
 */
export const adapterCalls = (http: UpstreamHttp, addresses: Addresses): AdapterCalls => ({
  list: async () => {
    const { status, text } = await http.call(addresses.models, LIST_LIMIT_MS);
    if (status !== 200) throw new Error(`${addresses.models} returned status ${status}: ${messageOf(text)}`);
    return ModelList.parse(JSON.parse(text)).data.map(({ id, root, parent }) => ({
      id,
      root: root ?? null,
      parent: parent ?? null,
    }));
  },
  load: async (lora_name, lora_path) => {
    const { status, text } = await http.call(addresses.load, LOAD_LIMIT_MS, { lora_name, lora_path });
    if (status === 200 || /already/i.test(messageOf(text))) return; // done by another replica
    throw new Error(
      `the upstream engine could not load ${lora_path}: ${hint(status, text)}${messageOf(text)}`,
    );
  },
  unload: async (lora_name) => {
    const { status, text } = await http.call(addresses.unload, LOAD_LIMIT_MS, { lora_name });
    if (status === 200 || status === 404) return; // done by another replica
    if (/cannot be found|not (?:been )?loaded|does not exist/i.test(messageOf(text))) return;
    throw new Error(`status ${status}: ${messageOf(text)}`);
  },
});

/** vLLM also returns 404, with a message about the adapter, if the folder contains no adapter. */
const hint = (status: number, text: string): string =>
  status === 404 && !/adapter/i.test(messageOf(text))
    ? 'it has no call to load adapters (vLLM needs --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True): '
    : '';

/**
 * Exports the adapter of a checkpoint to a separate folder, atomically. SGLang reads all weights in a folder, even
 * the optimizer's moments. The files are links if the file system supports them, else copies.
 *
 * @param baseDigest of the served model; undefined if it is not on this machine
 * @returns rejects if the checkpoint is not an adapter, or not the promoted one
 */
export async function handOverAdapter(
  version: SourcedVersion,
  folder: string,
  baseDigest: Promise<string> | undefined,
): Promise<void> {
  const { trained } = await readPromoted(version, baseDigest);
  if (!('kind' in trained))
    throw new Error('the version has full weights, but an upstream engine accepts only adapters');
  if (existsSync(folder)) {
    const now = new Date();
    await utimes(folder, now, now).catch(() => {}); // it is in use again, so nobody removes it as a leftover
    return;
  }
  const temporary = join(dirname(folder), `.tmp-${randomUUID()}`);
  await mkdir(temporary, { recursive: true });
  try {
    for (const name of adapterFileNames) {
      const [from, to] = [join(version.adapter.folder, name), join(temporary, name)];
      await link(from, to).catch(() => copyFile(from, to));
    }
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // otherwise another process was first
  }
}
