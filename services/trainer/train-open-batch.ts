import { randomBytes } from 'node:crypto';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { recordedTrainingSettings } from '../../shared/events/training-settings.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import {
  CheckpointDamaged,
  type CheckpointStore,
  type StoredCheckpoint,
} from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { isStoreUnavailable, storeUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import { utcNow } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { isRefusal } from '../../shared/runtime/refusal.ts';
import { commitStep, nameOf } from './commit-step.ts';
import { findCommitted } from './find-committed.ts';
import { type Outcome, outcomeEvents } from './outcome.ts';
import { digestOf, isGoneForGood, readEarlier, readSamples } from './read-samples.ts';
import { isServerWait, lacksParentState } from './remote/server-wait.ts';
import type { StepInput, StepProgress } from './step.ts';
import type { RunStep, StepRunner } from './step-runner.ts';
import { separateTeacher } from './teacher.ts';

type Batch = BatchSubmitted['data'];

export type Training = {
  readonly log: Pick<EventLog, 'append' | 'read' | 'logId'>;
  /** the adapter's checkpoints */
  readonly store: CheckpointStore;
  /** the checkpoint of the batch's parent according to the log; undefined: the base */
  readonly parent: { readonly checkpoint: string; readonly digest: string } | undefined;
  /** whether the parent is still the head; an operator's rollback changes that */
  readonly isParentHead: () => boolean;
  /** whether the log has a version of the adapter with a checkpoint */
  readonly holdsVersions: boolean;
  readonly runner: Pick<StepRunner, 'run' | 'refusal' | 'removeState'>;
  /** the folder of a model, by name or hub id; downloads it first if necessary */
  readonly findModel: (model: string, signal: AbortSignal) => Promise<string>;
  /** the loaded base model: its name, its folder, and its modelDigest */
  readonly base: { readonly model: string; readonly folder: string; readonly digest: string };
  readonly maxStrikes: number;
  readonly logger: Logger;
  readonly onProgress: (progress: StepProgress) => void;
  readonly onStep: (step: RunStep) => void;
};

/** ms between heartbeats of an attempt */
const BEAT_MS = 5_000;

/**
 * Brings the open batch to its outcome and appends that to the log. It may be called at any time, any number of
 * times, by several processes, and killed between any two lines: a committed checkpoint is found again, and the
 * ids of outcome events follow from the batch.
 *
 * Rejects if an attempt failed or was stopped; the job is then retried.
 * @throws StoreUnavailable while checkpoints cannot be reached
 */
export async function trainOpenBatch(
  training: Training,
  batch: Batch,
  signal: AbortSignal,
): Promise<Outcome> {
  const outcome = await settle(training, batch, signal);
  await training.log.append(outcomeEvents(batch, outcome, utcNow()));
  // what could not be removed stays noted for the pruner
  if (await removeLeftStates(training, batch, outcome)) await training.store.attempts(nameOf(batch)).clear();
  return outcome;
}

/** Removes what the attempts saved on a server, except the state of the version; false if the server still has some. */
async function removeLeftStates(
  { store, runner, logger }: Training,
  batch: Batch,
  outcome: Outcome,
): Promise<boolean> {
  const kept = outcome.kind === 'trained' ? outcome.state.optimizer?.path : undefined;
  const left = (await store.attempts(nameOf(batch)).notes()).filter((path) => path !== kept);
  let isClean = true;
  for (const path of left)
    await runner.removeState?.(path).catch((error: unknown) => {
      isClean = false;
      logger.warn(
        { err: error, batch: batch.batchId, path },
        'could not remove a state on the training server; will retry after the next batch',
      );
    });
  return isClean;
}

async function settle(training: Training, batch: Batch, signal: AbortSignal): Promise<Outcome> {
  const { store, maxStrikes, base, log, logger } = training;
  const name = nameOf(batch);
  const away = await store.problem(training.holdsVersions);
  if (away !== undefined) throw storeUnavailable(away);
  const committed = await findCommitted(training, batch, name);
  if (committed !== undefined) return committed;

  const strikes = await store.attempts(name).strikes();
  const last = strikes.errors.at(-1) ?? 'the process was killed during the step';
  if (strikes.count > 0)
    logger.warn(
      {
        batch: batch.batchId,
        strikes,
        maxStrikes,
        reason: `${strikes.count} of ${maxStrikes} allowed attempts; last: ${last}`,
      },
      'earlier attempts at this batch failed',
    );
  if (strikes.count >= maxStrikes) {
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
  const settings = recordedTrainingSettings.parse(batch.settings);
  const { training: kind } = settings;
  const parentKind = parent.checkpoint?.state.settings.training ?? kind;
  if (parentKind !== kind)
    return failed(
      'training-changed',
      `v${batch.parent} was trained as ${parentKind}, this batch asks for ${kind}`,
    );
  const refusal = training.runner.refusal?.(settings, parent.checkpoint?.state);
  if (refusal !== undefined) return failed('training-changed', refusal);
  const read = await readBatch(log, batch);
  if ('kind' in read) return read;
  const teacher = await findTeacher(training, batch, signal);
  return 'kind' in teacher
    ? teacher
    : attempt(
        training,
        batch,
        { parent: parent.checkpoint, read, teacherFolder: teacher.folder, number: strikes.count + 1 },
        signal,
      );
}

type Failed = Extract<Outcome, { kind: 'failed' }>;

/** Fails the batch if a record is gone for good. Rejects if the log is unavailable, which is temporary. */
async function readBatch(
  log: Pick<EventLog, 'read'>,
  batch: Batch,
): Promise<Pick<StepInput, 'samples' | 'earlier'> | Failed> {
  try {
    return { samples: await readSamples(log, batch), earlier: await readEarlier(log, batch) };
  } catch (error) {
    if (!isGoneForGood(error)) throw error;
    return failed('samples-missing', (error as Error).message);
  }
}

/**
 * Finds the folder of a separate teacher. Waiting for an unreachable hub does not count as an attempt. A
 * refusal by the hub is final, so it fails the batch.
 */
async function findTeacher(
  { findModel }: Training,
  { settings }: Batch,
  signal: AbortSignal,
): Promise<{ readonly folder: string | undefined } | Failed> {
  const model = separateTeacher(settings);
  if (model === undefined) return { folder: undefined };
  try {
    return { folder: await findModel(model, signal) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return failed('teacher-missing', error.message);
  }
}

type AttemptInput = {
  readonly parent: StoredCheckpoint | undefined;
  readonly read: Pick<StepInput, 'samples' | 'earlier'>;
  /** undefined: no separate teacher */
  readonly teacherFolder: string | undefined;
  /** 1 for the first */
  readonly number: number;
};

async function attempt(
  training: Training,
  batch: Batch,
  { parent, read, teacherFolder, number }: AttemptInput,
  signal: AbortSignal,
): Promise<Outcome> {
  const { store, runner } = training;
  const attempts = store.attempts(nameOf(batch));
  const marker = await attempts.begin();
  const beats = setInterval(() => void marker.beat(), BEAT_MS);
  try {
    const input = {
      parent: parent && {
        adapter: parent.adapter,
        optimizer: parent.optimizer,
        baseline: parent.state.baseline,
      },
      batch: teacherFolder === undefined ? batch : withTeacherFolder(batch, teacherFolder),
      ...read,
      // A cancelled attempt is not counted, so its number alone does not name it.
      label: `${nameOf(batch)}-a${number}-${randomBytes(3).toString('hex')}`,
    };
    const step = await runner.run(input, training.onProgress, signal, { onState: attempts.note });
    training.onStep(step);
    const outcome = await commitStep(training, batch, digestOf(read.samples), step);
    await marker.end();
    return outcome;
  } catch (error) {
    const isOurFault = !isCancelled(signal) && !isStoreUnavailable(error) && !isServerWait(error);
    if (isOurFault) await marker.fail((error as Error).message);
    else await marker.end();
    // While the parent is the head, only an operator can help; without it, nobody needs the batch.
    if (lacksParentState(error) && !training.isParentHead())
      return failed('parent-missing', `v${batch.parent}: ${error.message}`);
    // The batch itself may be what the server fails on: then a rollback is the way out.
    if (isServerWait(error) && !isCancelled(signal) && !training.isParentHead())
      return failed('strikes', `v${batch.parent} is no longer the head; ${error.message}`);
    throw error;
  } finally {
    clearInterval(beats);
  }
}

/** Replaces the teacher's name by its folder, because the step's thread has no access to the hub. */
const withTeacherFolder = (batch: Batch, teacher: string): Batch => ({
  ...batch,
  settings: { ...batch.settings, teacher },
});

/** Whether a shutdown or a lost queue stopped the attempt, which is not a strike. A time limit is one. */
export const isCancelled = (signal: AbortSignal): boolean =>
  signal.aborted && (signal.reason as Partial<Error> | undefined)?.name !== 'TimeoutError';

/**
 * Reads the checkpoint of the batch's parent; version 0 has none. If it cannot be read, the batch waits for as
 * long as the parent is the head. @throws StoreUnavailable
 */
async function readParent(
  { store, parent, isParentHead }: Training,
  batch: Batch,
): Promise<{ readonly checkpoint: StoredCheckpoint | undefined } | Failed> {
  if (batch.parent === 0) return { checkpoint: undefined };
  const missing = (detail: string): Failed => {
    if (!isParentHead()) return failed('parent-missing', detail);
    throw storeUnavailable(
      `${detail}; restore it, or abandon v${batch.parent} with \`clawloop policy rollback VERSION\``,
    );
  };
  if (parent === undefined || !(await store.has(parent.checkpoint)))
    return missing(`there is no checkpoint of v${batch.parent} in ${store.folder}`);
  try {
    const checkpoint = await store.read(parent.checkpoint);
    return checkpoint.state.digest === parent.digest
      ? { checkpoint }
      : missing(`${checkpoint.folder} holds other numbers than v${batch.parent} had when it was promoted`);
  } catch (error) {
    if (!(error instanceof CheckpointDamaged)) throw error;
    return missing(error.message);
  }
}

const failed = (reason: Failed['reason'], detail: string): Failed => ({ kind: 'failed', reason, detail });
