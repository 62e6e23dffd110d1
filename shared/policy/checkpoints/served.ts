import { createHash } from 'node:crypto';
import { inPieces } from '../model/pieces.ts';
import type { AdapterFile } from './adapter-files.ts';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { CheckpointDamaged, readCheckpoint, readState } from './checkpoint-files.ts';
import { type CheckpointState, fullDigest, tensorIntoDigest } from './state.ts';

/** The parts of a checkpoint that a server uses. */
export type ServedCheckpoint = {
  readonly state: CheckpointState;
  /** Full weights are read while they are uploaded, so that they are not in memory twice. */
  readonly trained: AdapterFile | Checkpoint;
};

/**
 * Reads a committed checkpoint and checks its digest. For full weights, it does not read the moments, and it
 * lets the thread do other work between two pieces.
 *
 * @throws CheckpointDamaged
 */
export async function readServed(folder: string): Promise<ServedCheckpoint> {
  const state = await readState(folder);
  if (state.settings.training === 'lora') {
    const { adapter } = await readCheckpoint(folder);
    if (adapter.kind === 'lora') return { state, trained: adapter };
  }
  const trained = await openCheckpoint(folder);
  const weights = createHash('sha256');
  for (const name of trained.names) {
    await inPieces(tensorIntoDigest(weights, name, trained.float32(name)));
  }
  const { parts, optimizerStep, baseline, digest } = state;
  const actual = parts && fullDigest({ ...parts, weights: weights.digest('hex') }, optimizerStep, baseline);
  if (actual !== digest)
    throw new CheckpointDamaged(
      `the checkpoint ${folder} is damaged: its digest is ${actual}, but ${digest} was committed`,
    );
  return { state, trained };
}
