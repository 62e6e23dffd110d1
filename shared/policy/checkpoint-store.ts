import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readAdapter, writeAdapter } from './adapter-files.ts';
import {
  type CheckpointContent,
  type CheckpointState,
  checkpointState,
  type OptimizerState,
  sealing,
} from './checkpoint-store-state.ts';
import { readFullWeights, writeFullWeights } from './full-weights.ts';
import { inPieces } from './pieces.ts';
import { readAllTensors, readSafetensors, type TensorData, writeSafetensors } from './safetensors.ts';

export type StoredCheckpoint = CheckpointContent & { readonly name: string; readonly folder: string };
export type CheckpointSummary = { readonly name: string; readonly state: CheckpointState };

/** Thrown when a checkpoint cannot be read, or holds other numbers than those that were committed. */
export class CheckpointDamaged extends Error {
  override readonly name = 'CheckpointDamaged';
}

const stateName = 'state.json';
const optimizerName = 'optimizer.safetensors';
const namePattern = /^\d+-[0-9a-f]{12}$/;
const temporaryPrefix = '.tmp-';
const asidePrefix = '.aside-';

/** The folder name of a batch's checkpoint: its number, and the start of the digest of the whole batch. */
export const checkpointName = (version: number, batchDigest: string): string =>
  `${version}-${batchDigest.slice(0, 12)}`;

/**
 * Commits a checkpoint under `name`, whole or not at all: it is written beside, flushed to disk and renamed.
 * Renaming onto a folder that holds something fails, so that of two writers the first wins; the other
 * discards its work and gets the winner's.
 *
 * @param store folder of one adapter's checkpoints; made when absent
 * @param model folder that training began from; a version that is all weights takes from it what else a model
 *   needs
 */
export async function commitCheckpoint(
  store: string,
  name: string,
  content: CheckpointContent,
  model: string,
): Promise<{ readonly won: boolean; readonly checkpoint: StoredCheckpoint }> {
  const folder = join(store, name);
  const temporary = join(store, `${temporaryPrefix}${name}-${randomUUID()}`);
  await mkdir(temporary, { recursive: true });
  let won = true;
  try {
    if (content.adapter.kind === 'lora') await writeAdapter(temporary, content.adapter);
    else await writeFullWeights(temporary, content.adapter, model);
    await writeSafetensors(join(temporary, optimizerName), optimizerTensors(content.optimizer), {
      dtype: 'F32',
    });
    await writeFile(join(temporary, stateName), `${JSON.stringify(content.state, null, 2)}\n`);
    for (const file of await readdir(temporary)) await flush(join(temporary, file));
    await flush(temporary);
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (!isOccupied(error)) throw error;
    won = false;
  }
  await flush(store);
  return { won, checkpoint: won ? { ...content, name, folder } : await readCheckpoint(folder) };
}

/**
 * Reads a committed checkpoint and checks its digest.
 * @throws CheckpointDamaged
 */
export async function readCheckpoint(folder: string): Promise<StoredCheckpoint> {
  try {
    const state = await readState(folder);
    const adapter = await (isFull(state) ? readFullWeights(folder) : readAdapter(folder));
    const optimizer = await readOptimizer(folder, state.optimizerStep);
    const { digest } = await inPieces(sealing({ adapter, optimizer, baseline: state.baseline }));
    if (digest !== state.digest) throw new Error(`its digest is ${digest}, committed was ${state.digest}`);
    return { name: folder.slice(folder.lastIndexOf('/') + 1), folder, state, adapter, optimizer };
  } catch (error) {
    throw new CheckpointDamaged(`the checkpoint ${folder} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Whether a checkpoint of this name was committed. */
export async function hasCheckpoint(store: string, name: string): Promise<boolean> {
  return (await names(store)).includes(name);
}

/**
 * All committed checkpoints of an adapter by version, without their tensors; unreadable ones are left out.
 */
export async function listCheckpoints(store: string): Promise<readonly CheckpointSummary[]> {
  const found = await Promise.all(
    (await names(store)).map(async (name): Promise<readonly CheckpointSummary[]> => {
      try {
        return [{ name, state: await readState(join(store, name)) }];
      } catch {
        return [];
      }
    }),
  );
  return found.flat().sort((a, b) => a.state.version - b.state.version);
}

/**
 * Takes away the checkpoints that have the number of `kept` under another name, and `kept` itself where
 * `foreign` says so: they were made from other batches, as a log that was restored leaves them behind. Nothing
 * is deleted. Returns the new names.
 */
export async function setAside(
  store: string,
  kept: string,
  { foreign }: { readonly foreign: boolean },
): Promise<readonly string[]> {
  const number = kept.slice(0, kept.indexOf('-') + 1);
  const others = (await names(store)).filter((name) => name.startsWith(number) && (foreign || name !== kept));
  const moved = await Promise.all(
    others.map(async (name) => {
      const aside = `${asidePrefix}${name}-${randomUUID().slice(0, 8)}`;
      try {
        await rename(join(store, name), join(store, aside));
        return [aside];
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // another trainer was first
        throw error;
      }
    }),
  );
  return moved.flat();
}

async function names(store: string): Promise<readonly string[]> {
  return (await entriesOf(store)).filter((name) => namePattern.test(name));
}

/** The entries of a folder; none when it does not exist. */
export async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export const isTemporary = (name: string): boolean => name.startsWith(temporaryPrefix);

const isFull = ({ settings }: CheckpointState): boolean => settings.training === 'full';

/** `state.json` of a checkpoint. */
export async function readState(folder: string): Promise<CheckpointState> {
  return checkpointState.parse(JSON.parse(await readFile(join(folder, stateName), 'utf8')));
}

const moments = [
  ['first_moment.', 'first'],
  ['second_moment.', 'second'],
] as const;

function optimizerTensors(optimizer: OptimizerState): ReadonlyMap<string, TensorData> {
  return new Map(
    moments.flatMap(([prefix, field]) =>
      [...optimizer[field]].map(
        ([name, values]) => [prefix + name, { shape: [values.length], values }] as const,
      ),
    ),
  );
}

async function readOptimizer(folder: string, step: number): Promise<OptimizerState> {
  const file = await readSafetensors(join(folder, optimizerName));
  const tensors = await readAllTensors(file);
  const [first, second] = moments.map(
    ([prefix]) =>
      new Map(
        [...tensors]
          .filter(([name]) => name.startsWith(prefix))
          .map(([name, { values }]) => [name.slice(prefix.length), values] as const),
      ),
  );
  return { step, first: first!, second: second! };
}

/** To disk: a file's bytes, or a folder's entries. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const isOccupied = (error: unknown): boolean =>
  ['EEXIST', 'ENOTEMPTY', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
