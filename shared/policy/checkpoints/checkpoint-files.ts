import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { inPieces } from '../model/pieces.ts';
import { readAdapter, writeAdapter } from './adapter-files.ts';
import { readFullWeights, writeFullWeights } from './full-weights.ts';
import { readAllTensors, readSafetensors, type TensorData, writeSafetensors } from './safetensors.ts';
import {
  type CheckpointContent,
  type CheckpointState,
  checkpointState,
  type LocalOptimizer,
  type OptimizerState,
  sealing,
} from './state.ts';

export type StoredCheckpoint = CheckpointContent & { readonly name: string; readonly folder: string };

/** Thrown when a checkpoint cannot be read, or its numbers are not those that were committed. */
export class CheckpointDamaged extends Error {
  override readonly name = 'CheckpointDamaged';
}

const stateName = 'state.json';
const optimizerName = 'optimizer.safetensors';

/**
 * Writes a checkpoint into a folder and flushes it to disk.
 *
 * @param model folder of the model that training began from; full weights take their configuration and
 *   tokenizer from it
 */
export async function writeCheckpoint(
  folder: string,
  content: CheckpointContent,
  model: string,
): Promise<void> {
  if (content.adapter.kind === 'lora') await writeAdapter(folder, content.adapter);
  else await writeFullWeights(folder, content.adapter, model);
  if (content.optimizer.kind !== 'remote')
    await writeSafetensors(join(folder, optimizerName), optimizerTensors(content.optimizer), {
      dtype: 'F32',
    });
  await writeFile(join(folder, stateName), `${JSON.stringify(content.state, null, 2)}\n`);
  for (const file of await readdir(folder)) await flush(join(folder, file));
  await flush(folder);
}

/**
 * Reads a committed checkpoint and checks its digest.
 * @throws CheckpointDamaged
 */
export async function readCheckpoint(folder: string): Promise<StoredCheckpoint> {
  try {
    const state = await readState(folder);
    const isFull = state.settings.training === 'full';
    const adapter = await (isFull ? readFullWeights(folder) : readAdapter(folder));
    const optimizer: OptimizerState =
      state.optimizer === undefined
        ? await readOptimizer(folder, state.optimizerStep)
        : { ...state.optimizer, step: state.optimizerStep };
    const { digest } = await inPieces(sealing({ adapter, optimizer, baseline: state.baseline }));
    if (digest !== state.digest)
      throw new Error(`its digest is ${digest}, but ${state.digest} was committed`);
    return { name: basename(folder), folder, state, adapter, optimizer };
  } catch (error) {
    throw new CheckpointDamaged(`the checkpoint ${folder} is damaged: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** `state.json` of a checkpoint. */
export async function readState(folder: string): Promise<CheckpointState> {
  return checkpointState.parse(JSON.parse(await readFile(join(folder, stateName), 'utf8')));
}

const moments = [
  ['first_moment.', 'first'],
  ['second_moment.', 'second'],
] as const;

function optimizerTensors(optimizer: LocalOptimizer): ReadonlyMap<string, TensorData> {
  return new Map(
    moments.flatMap(([prefix, field]) =>
      [...optimizer[field]].map(
        ([name, values]) => [prefix + name, { shape: [values.length], values }] as const,
      ),
    ),
  );
}

async function readOptimizer(folder: string, step: number): Promise<LocalOptimizer> {
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

/** Flushes a file's bytes, or a folder's entries, to disk. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
