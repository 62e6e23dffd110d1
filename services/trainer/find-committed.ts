import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { batchDigest } from '../../shared/lineage/batch-digest.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { CheckpointDamaged, type CheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import type { CheckpointState } from '../../shared/policy/checkpoints/state.ts';
import { storeUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { BoundState, Outcome } from './outcome.ts';
import { digestOf, isGoneForGood, readSamples } from './read-samples.ts';

type Batch = BatchSubmitted['data'];
type Deps = {
  readonly store: CheckpointStore;
  readonly log: Pick<EventLog, 'read'>;
  readonly logger: Logger;
};

/**
 * The outcome of a batch whose checkpoint is already committed; undefined: it is still to be trained. A
 * checkpoint with the same number but from another batch, or from other samples, is set aside: it was made
 * before the log was restored, or by an earlier version.
 *
 * @throws StoreUnavailable
 * @param name name of this batch's checkpoint
 */
export async function findCommitted(
  { store, log, logger }: Deps,
  batch: Batch,
  name: string,
): Promise<Outcome | undefined> {
  await store.complete(name);
  const state = (await store.has(name)) ? await readState(store, name) : undefined;
  const isOfThisBatch =
    state !== undefined && isFromBatch(batch, state) && (await hasSameSamples(log, batch, state));
  const aside = await store.setAside(name, { foreign: !isOfThisBatch });
  if (aside.length > 0)
    logger.warn(
      { batch: batch.batchId, folder: store.folder, aside },
      'set aside a checkpoint with this number that was made from another batch',
    );
  return isOfThisBatch ? { kind: 'trained', checkpoint: name, state } : undefined;
}

/** @throws StoreUnavailable */
async function readState(store: CheckpointStore, name: string): Promise<CheckpointState> {
  try {
    return (await store.read(name)).state;
  } catch (error) {
    if (!(error instanceof CheckpointDamaged)) throw error;
    throw storeUnavailable(`${error.message}; restore it, or move it away to train the batch again`, error);
  }
}

const isFromBatch = (batch: Batch, state: CheckpointState): state is BoundState =>
  state.batchDigest === batchDigest(batch) && state.samplesDigest !== undefined;

/** Whether a checkpoint has the batch's samples. If they are gone from the log, the checkpoint is accepted. */
async function hasSameSamples(
  log: Deps['log'],
  batch: Batch,
  { samplesDigest }: BoundState,
): Promise<boolean> {
  try {
    return digestOf(await readSamples(log, batch)) === samplesDigest;
  } catch (error) {
    if (!isGoneForGood(error)) throw error;
    return true;
  }
}
