import { join } from 'node:path';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { recordedTrainingSettings } from '../../shared/events/training-settings.ts';
import { batchDigest } from '../../shared/lineage/batch-digest.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import {
  CheckpointDamaged,
  checkpointName,
  commitCheckpoint,
  hasCheckpoint,
  readCheckpoint,
  type StoredCheckpoint,
} from '../../shared/policy/checkpoint-store.ts';
import { beginAttempt, clearAttempts, readStrikes } from '../../shared/policy/checkpoint-store-attempts.ts';
import { isPresent, storeProblem } from '../../shared/policy/checkpoint-store-presence.ts';
import { sealing } from '../../shared/policy/checkpoint-store-state.ts';
import { inPieces } from '../../shared/policy/pieces.ts';
import { utcNow } from '../../shared/service/clock.ts';
import type { Logger } from '../../shared/service/logger.ts';
import { isRefusal } from '../../shared/service/refusal.ts';
import { findCommitted } from './find-committed.ts';
import { type BoundState, type Outcome, outcomeEvents } from './outcome.ts';
import { ownTeacher } from './own-teacher.ts';
import { areGone, digestOf, readEarlier, readSamples } from './read-samples.ts';
import type { StepInput, StepProgress } from './step.ts';
import type { RunStep, StepRunner } from './step-runner.ts';
import { isStorageError, isStoreAway, storeAway } from './store-away.ts';

type Batch = BatchSubmitted['data'];

export type Training = {
  readonly log: Pick<EventLog, 'append' | 'read' | 'logId'>;
  /** folder of the adapter's checkpoints */
  readonly store: string;
  /** The checkpoint that was promoted as the batch's parent, as the log names it; undefined: the base. */
  readonly parent: { readonly checkpoint: string; readonly digest: string } | undefined;
  /** Whether the parent is the head still; an operator's rollback gives it up. */
  readonly isParentHead: () => boolean;
  /** Whether the log knows a version of the adapter that has a checkpoint. */
  readonly holdsVersions: boolean;
  readonly runner: Pick<StepRunner, 'run'>;
  /** The folder of a model by its name or hub id; brings it from the hub first where it is not here. */
  readonly findModel: (model: string, signal: AbortSignal) => Promise<string>;
  /** the base model that is loaded: its name, its folder, and its modelDigest */
  readonly base: { readonly model: string; readonly folder: string; readonly digest: string };
  readonly maxStrikes: number;
  readonly logger: Logger;
  readonly onProgress: (progress: StepProgress) => void;
  readonly onStep: (step: RunStep) => void;
};

/** ms between two signs of life of an attempt */
const BEAT_MS = 5_000;

/**
 * Brings the open batch to its outcome and says it in the log. It may be called at any time, any number of
 * times, by several processes, and killed between any two lines: a committed checkpoint is found again, and
 * outcomes have ids that follow from the batch.
 *
 * Rejects when an attempt failed, or was stopped; the job is then tried again.
 * @throws StoreAway while checkpoints cannot be reached
 */
export async function trainOpenBatch(
  training: Training,
  batch: Batch,
  signal: AbortSignal,
): Promise<Outcome> {
  const outcome = await settle(training, batch, signal);
  await training.log.append(outcomeEvents(batch, outcome, utcNow()));
  await clearAttempts(training.store, nameOf(batch));
  return outcome;
}

const nameOf = (batch: Batch): string => checkpointName(batch.n, batchDigest(batch));

async function settle(training: Training, batch: Batch, signal: AbortSignal): Promise<Outcome> {
  const { store, maxStrikes, base, log, logger } = training;
  const name = nameOf(batch);
  const away = await storeProblem(store, training.holdsVersions);
  if (away !== undefined) throw storeAway(away);
  const committed = await findCommitted(training, batch, name);
  if (committed !== undefined) return committed;

  const strikes = await readStrikes(store, name);
  if (strikes.count > 0)
    logger.warn({ batch: batch.batchId, strikes }, 'earlier attempts at this batch died');
  if (strikes.count >= maxStrikes) {
    const last = strikes.errors.at(-1) ?? 'the process was killed during the step';
    return failed('strikes', `${strikes.count} attempts did not end; last: ${last}`);
  }
  const parent = await readParent(training, batch);
  if ('kind' in parent) return parent;
  if (parent.checkpoint !== undefined && parent.checkpoint.state.baseDigest !== base.digest) {
    const { model } = parent.checkpoint.state;
    return failed(
      'base-changed',
      `v${batch.parent} was trained on another ${model} than the ${base.model} that is loaded`,
    );
  }
  const { training: kind } = recordedTrainingSettings.parse(batch.settings);
  const parentKind = parent.checkpoint?.state.settings.training ?? kind;
  if (parentKind !== kind)
    return failed(
      'training-changed',
      `v${batch.parent} was trained as ${parentKind}, this batch asks for ${kind}`,
    );
  const read = await readBatch(log, batch);
  if ('kind' in read) return read;
  const teacher = await findTeacher(training, batch, signal);
  return 'kind' in teacher ? teacher : attempt(training, batch, parent.checkpoint, read, teacher, signal);
}

type Failed = Extract<Outcome, { kind: 'failed' }>;

/** No number of attempts brings a record back; a log that is away does come back. */
async function readBatch(
  log: Pick<EventLog, 'read'>,
  batch: Batch,
): Promise<Pick<StepInput, 'samples' | 'earlier'> | Failed> {
  try {
    return { samples: await readSamples(log, batch), earlier: await readEarlier(log, batch) };
  } catch (error) {
    if (!areGone(error)) throw error;
    return failed('samples-missing', (error as Error).message);
  }
}

/**
 * The folder of a teacher of its own. To wait for a hub that cannot be reached is no attempt at the step; one
 * that says no says so again.
 */
async function findTeacher(
  { findModel }: Training,
  { settings }: Batch,
  signal: AbortSignal,
): Promise<{ readonly folder: string | undefined } | Failed> {
  const model = ownTeacher(settings);
  if (model === undefined) return { folder: undefined };
  try {
    return { folder: await findModel(model, signal) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return failed('teacher-missing', error.message);
  }
}

async function attempt(
  training: Training,
  batch: Batch,
  parent: StoredCheckpoint | undefined,
  read: Pick<StepInput, 'samples' | 'earlier'>,
  teacher: { readonly folder: string | undefined },
  signal: AbortSignal,
): Promise<Outcome> {
  const { store, runner } = training;
  const name = nameOf(batch);
  const marker = await beginAttempt(store, name);
  const beats = setInterval(() => void marker.beat(), BEAT_MS);
  try {
    const input = {
      parent: parent && {
        adapter: parent.adapter,
        optimizer: parent.optimizer,
        baseline: parent.state.baseline,
      },
      batch: teacher.folder === undefined ? batch : taughtBy(batch, teacher.folder),
      ...read,
    };
    const step = await runner.run(input, training.onProgress, signal);
    training.onStep(step);
    const outcome = await commit(training, batch, digestOf(read.samples), step);
    await marker.end();
    return outcome;
  } catch (error) {
    if (isCalledOff(signal) || isStoreAway(error)) await marker.end();
    else await marker.fail((error as Error).message);
    throw error;
  } finally {
    clearInterval(beats);
  }
}

/** The step's thread knows folders, no hub. */
const taughtBy = (batch: Batch, teacher: string): Batch => ({
  ...batch,
  settings: { ...batch.settings, teacher },
});

async function commit(
  { store, log, base, logger }: Training,
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
    gate,
    metrics,
    fingerprint,
    milliseconds,
    ...(await inPieces(sealing({ adapter, optimizer, baseline }))),
  };
  const content = { adapter, optimizer, state };
  const { won, checkpoint } = await commitTo(store, nameOf(batch), content, base.folder);
  if (!won) logger.info({ batch: batch.batchId }, 'another trainer was first; its checkpoint counts');
  return { kind: 'trained', checkpoint: checkpoint.name, state: { ...state, ...checkpoint.state } };
}

/** A store that is away, or full, is no fault of the step. @throws StoreAway */
async function commitTo(
  store: string,
  ...committed: Tail<Parameters<typeof commitCheckpoint>>
): ReturnType<typeof commitCheckpoint> {
  try {
    if (!(await isPresent(store))) throw storeAway(`${store} went away during the step`);
    return await commitCheckpoint(store, ...committed);
  } catch (error) {
    if (!isStorageError(error)) throw error;
    throw storeAway(`the checkpoint cannot be written: ${error.message}`, error);
  }
}
type Tail<Parameters> = Parameters extends readonly [unknown, ...infer Rest] ? Rest : never;

/** Stopped by a shutdown or a dropped queue, which is no strike. A time limit is one. */
export const isCalledOff = (signal: AbortSignal): boolean =>
  signal.aborted && (signal.reason as Partial<Error> | undefined)?.name !== 'TimeoutError';

/**
 * What the batch starts from: the checkpoint that was promoted, or none for version 0. One that cannot be read is
 * waited for as long as it is the head. @throws StoreAway
 */
async function readParent(
  { store, parent, isParentHead }: Training,
  batch: Batch,
): Promise<{ readonly checkpoint: StoredCheckpoint | undefined } | Failed> {
  if (batch.parent === 0) return { checkpoint: undefined };
  const missing = (detail: string): Failed => {
    if (!isParentHead()) return failed('parent-missing', detail);
    throw storeAway(
      `${detail}; bring it back, or give v${batch.parent} up with \`clawloop policy rollback VERSION\``,
    );
  };
  if (parent === undefined || !(await hasCheckpoint(store, parent.checkpoint)))
    return missing(`there is no checkpoint of v${batch.parent} in ${store}`);
  try {
    const checkpoint = await readCheckpoint(join(store, parent.checkpoint));
    return checkpoint.state.digest === parent.digest
      ? { checkpoint }
      : missing(`${checkpoint.folder} holds other numbers than v${batch.parent} had when it was promoted`);
  } catch (error) {
    if (!(error instanceof CheckpointDamaged)) throw error;
    return missing(error.message);
  }
}

const failed = (reason: Failed['reason'], detail: string): Failed => ({ kind: 'failed', reason, detail });
