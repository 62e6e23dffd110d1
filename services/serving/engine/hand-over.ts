import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { adapterFileNames } from '../../../shared/policy/adapter-files.ts';
import type { SourcedVersion } from './load-version.ts';
import { readPromoted } from './load-version.ts';

/**
 * Puts the adapter of a checkpoint into a folder that holds nothing else, whole or not at all: SGLang reads
 * every weight that it finds in one, the optimizer's moments too. The files are the checkpoint's own (links)
 * where the file system can.
 *
 * @param baseDigest of the model that is served; undefined: it is not on this machine
 * @returns rejects when the checkpoint is no adapter, or not the one that was promoted
 */
export async function handOverAdapter(
  version: SourcedVersion,
  folder: string,
  baseDigest: Promise<string> | undefined,
): Promise<void> {
  const { trained } = await readPromoted(version, baseDigest);
  if (!('kind' in trained)) throw new Error('it is all weights, and an upstream engine takes adapters');
  if (existsSync(folder)) return;
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
    if (!existsSync(folder)) throw error; // else another process was first
  }
}
