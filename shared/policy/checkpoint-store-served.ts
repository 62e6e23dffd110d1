import { createHash } from 'node:crypto';
import type { AdapterFile } from './adapter-files.ts';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { CheckpointDamaged, readCheckpoint, readState } from './checkpoint-store.ts';
import { type CheckpointState, fullDigest, tensorIntoDigest } from './checkpoint-store-state.ts';
import { inPieces } from './pieces.ts';

/** What a server takes from a checkpoint. */
export type ServedCheckpoint = {
  readonly state: CheckpointState;
  /** Weights are read as they are uploaded, so that they do not stand in memory twice. */
  readonly trained: AdapterFile | Checkpoint;
};

/**
 * Reads a committed checkpoint and checks its digest. Of a version that is all weights, the moments are not
 * read, and between two pieces the thread does its other work.
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
  const found = parts && fullDigest({ ...parts, weights: weights.digest('hex') }, optimizerStep, baseline);
  if (found !== digest)
    throw new CheckpointDamaged(
      `the checkpoint ${folder} cannot be used: its digest is ${found}, committed was ${digest}`,
    );
  return { state, trained };
}
