import { join } from 'node:path';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { batchDigest } from '../../shared/lineage/batch-digest.ts';
import {
  CheckpointDamaged,
  hasCheckpoint,
  readCheckpoint,
  setAside,
} from '../../shared/policy/checkpoint-store.ts';
import type { CheckpointState } from '../../shared/policy/checkpoint-store-state.ts';
import type { BoundState, Outcome } from './outcome.ts';
import { areGone, digestOf, readSamples } from './read-samples.ts';
import { storeAway } from './store-away.ts';
import type { Training } from './train-open-batch.ts';

type Batch = BatchSubmitted['data'];

/**
 * The outcome of a batch whose checkpoint was committed before, or undefined: it is still to be trained. A
 * checkpoint of the same number that was made from another batch, or from other samples, is set aside: it
 * stays from before the log was restored, or was made by an earlier version.
 *
 * @throws StoreAway
 * @param name under which the checkpoint of this batch is committed
 */
export async function findCommitted(
  { store, log, logger }: Pick<Training, 'store' | 'log' | 'logger'>,
  batch: Batch,
  name: string,
): Promise<Outcome | undefined> {
  const state = (await hasCheckpoint(store, name)) ? await readOwn(join(store, name)) : undefined;
  const isMine = state !== undefined && isOf(batch, state) && (await hasItsSamples(log, batch, state));
  const aside = await setAside(store, name, { foreign: !isMine });
  if (aside.length > 0)
    logger.warn(
      { batch: batch.batchId, folder: store, aside },
      'a checkpoint of this number was made from another batch: it is set aside',
    );
  return isMine ? { kind: 'trained', checkpoint: name, state } : undefined;
}

/** @throws StoreAway */
async function readOwn(folder: string): Promise<CheckpointState> {
  try {
    return (await readCheckpoint(folder)).state;
  } catch (error) {
    if (!(error instanceof CheckpointDamaged)) throw error;
    throw storeAway(`${error.message}; bring it back, or move it away: the batch is trained again`, error);
  }
}

const isOf = (batch: Batch, state: CheckpointState): state is BoundState =>
  state.batchDigest === batchDigest(batch) && state.samplesDigest !== undefined;

/** Samples that are gone from the log for good cannot speak against it. */
async function hasItsSamples(
  log: Training['log'],
  batch: Batch,
  { samplesDigest }: BoundState,
): Promise<boolean> {
  try {
    return digestOf(await readSamples(log, batch)) === samplesDigest;
  } catch (error) {
    if (!areGone(error)) throw error;
    return true;
  }
}
