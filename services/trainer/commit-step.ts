import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { defined } from '../../shared/lang/defined.ts';
import { batchDigest } from '../../shared/lineage/batch-digest.ts';
import { type CheckpointStore, checkpointName } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { type OptimizerState, sealing } from '../../shared/policy/checkpoints/state.ts';
import { isStorageError, storeUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import { inPieces } from '../../shared/policy/model/pieces.ts';
import type { BoundState, Outcome } from './outcome.ts';
import type { RunStep } from './step-runner.ts';
import type { Training } from './train-open-batch.ts';

type Batch = BatchSubmitted['data'];

/** Name of a batch's checkpoint. */
export const nameOf = (batch: Batch): string => checkpointName(batch.n, batchDigest(batch));

/**
 * Commits what a step made as the batch's checkpoint. Another trainer's checkpoint wins if it is there first.
 *
 * @throws StoreUnavailable while the checkpoints cannot be written
 */
export async function commitStep(
  { store, log, base, logger }: Pick<Training, 'store' | 'log' | 'base' | 'logger'>,
  batch: Batch,
  samplesDigest: string,
  step: RunStep,
): Promise<Outcome> {
  const { result, fingerprint, milliseconds } = step;
  if (result.kind !== 'candidate') return result;
  const { adapter, optimizer, baseline, gate, metrics } = result;
  const state: BoundState = {
    format: 1,
    version: batch.n,
    parent: batch.parent,
    batchId: batch.batchId,
    batchDigest: batchDigest(batch),
    samplesDigest,
    adapter: batch.adapter,
    logId: log.logId,
    model: base.model,
    baseDigest: base.digest,
    settings: batch.settings,
    seed: batch.seed,
    samples: batch.samples.length,
    baseline,
    optimizerStep: optimizer.step,
    ...defined({ optimizer: placeOf(optimizer), leftOut: result.leftOut && [...result.leftOut] }),
    gate,
    metrics,
    fingerprint,
    milliseconds,
    ...(await inPieces(sealing({ adapter, optimizer, baseline }))),
  };
  const content = { adapter, optimizer, state };
  const { won, checkpoint } = await commitTo(store, nameOf(batch), content, base.folder);
  if (!won) logger.info({ batch: batch.batchId }, 'another trainer committed first; using its checkpoint');
  return { kind: 'trained', checkpoint: checkpoint.name, state: { ...state, ...checkpoint.state } };
}

/** Where the moments are, if a server has them. */
function placeOf(optimizer: OptimizerState): BoundState['optimizer'] {
  if (optimizer.kind !== 'remote') return undefined;
  const { step: _, ...place } = optimizer;
  return place;
}

/** A store that is unavailable or full does not count against the step. @throws StoreUnavailable */
async function commitTo(
  store: CheckpointStore,
  ...committed: Parameters<CheckpointStore['commit']>
): ReturnType<CheckpointStore['commit']> {
  try {
    if (!(await store.isPresent()))
      throw storeUnavailable(`${store.folder} became unavailable during the step`);
    return await store.commit(...committed);
  } catch (error) {
    if (!isStorageError(error)) throw error;
    throw storeUnavailable(`cannot write the checkpoint: ${error.message}`, error);
  }
}
