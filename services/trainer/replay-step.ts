import { join } from 'node:path';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { PolicyTrained } from '../../shared/events/policy-trained.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import {
  CheckpointDamaged,
  hasCheckpoint,
  readCheckpoint,
  type StoredCheckpoint,
} from '../../shared/policy/checkpoint-store.ts';
import { checkpointDigest } from '../../shared/policy/checkpoint-store-state.ts';
import { isServiceError } from '../../shared/service/errors.ts';
import { isRefusal } from '../../shared/service/refusal.ts';
import { readFingerprint } from './fingerprint.ts';
import type { LearningEngine } from './learning-engine.ts';
import { areGone, readEarlier, readSamples } from './read-samples.ts';
import { type StepInput, step } from './step.ts';

/** One version, trained again. */
export type Replayed = {
  readonly adapter: string;
  readonly version: number;
  /** fingerprint of the runtime that trained it */
  readonly runtime: string;
} & (
  | { readonly kind: 'same'; readonly digest: string }
  | { readonly kind: 'different'; readonly digest: string; readonly expected: string }
  | { readonly kind: 'not-covered'; readonly why: string }
);

export type TrainedVersion = {
  readonly batch: BatchSubmitted['data'];
  readonly trained: PolicyTrained['data'];
  /** folder name of the parent's checkpoint; undefined: the base, or the log does not say */
  readonly parent: string | undefined;
};

/** Every version that the log says was trained, the first telling of each, in log order. */
export async function trainedVersions(log: Pick<EventLog, 'follow'>): Promise<readonly TrainedVersion[]> {
  const batches = new Map<string, BatchSubmitted['data']>();
  const versions = new Map<string, TrainedVersion>();
  const checkpoints = new Map<string, string>();
  const versionName = (adapter: string, version: number) => `${version} of ${adapter}`;
  const stop = new AbortController();
  const following = log.follow(
    'training',
    {},
    ({ event }) => {
      if (event.type === 'batch.submitted' && !batches.has(event.data.batchId))
        batches.set(event.data.batchId, event.data);
      if (event.type === 'policy.promoted')
        checkpoints.set(versionName(event.subject, event.data.to), event.data.checkpoint);
      if (event.type !== 'policy.trained' || versions.has(event.data.batchId)) return;
      const batch = batches.get(event.data.batchId);
      if (batch === undefined) return;
      const parent = checkpoints.get(versionName(event.subject, batch.parent));
      versions.set(batch.batchId, { batch, trained: event.data, parent });
    },
    stop.signal,
  );
  await Promise.race([following.caughtUp, following.done]);
  stop.abort();
  await following.done;
  return [...versions.values()];
}

/** Trains one version again from its parent's checkpoint and its samples in the log, and compares digests. */
export async function replayVersion(
  { batch, trained, parent: parentName }: TrainedVersion,
  {
    log,
    engine,
    storeOf,
  }: {
    readonly log: Pick<EventLog, 'read'>;
    readonly engine: LearningEngine;
    readonly storeOf: (adapter: string) => string;
  },
): Promise<Replayed> {
  const { adapter, version, digest: expected } = trained;
  const { runtime, teacherDigest } = readFingerprint(trained.fingerprint);
  const about = { adapter, version, runtime };
  let parent: StoredCheckpoint | undefined;
  try {
    const store = storeOf(adapter);
    if (parentName !== undefined && (await hasCheckpoint(store, parentName)))
      parent = await readCheckpoint(join(store, parentName));
  } catch (error) {
    if (!(error instanceof CheckpointDamaged)) throw error;
    return { ...about, kind: 'not-covered', why: error.message };
  }
  if (batch.parent !== 0 && parent === undefined)
    return {
      ...about,
      kind: 'not-covered',
      why: `the checkpoint of its parent v${batch.parent} is no longer kept`,
    };
  let read: Pick<StepInput, 'samples' | 'earlier'>;
  try {
    read = { samples: await readSamples(log, batch), earlier: await readEarlier(log, batch) };
  } catch (error) {
    if (!areGone(error)) throw error;
    return { ...about, kind: 'not-covered', why: (error as Error).message };
  }
  try {
    const teacher = await engine.prepare(batch.settings);
    if (teacher.teacherDigest !== teacherDigest)
      return {
        ...about,
        kind: 'not-covered',
        why: `the teacher ${batch.settings.teacher} is another one than taught it`,
      };
  } catch (error) {
    // a teacher that is gone, or changed, is no fault of the other versions
    if (!isRefusal(error) && !isServiceError(error)) throw error;
    return { ...about, kind: 'not-covered', why: error.message };
  }
  const result = step(engine, {
    parent: parent && {
      adapter: parent.adapter,
      optimizer: parent.optimizer,
      baseline: parent.state.baseline,
    },
    batch,
    ...read,
    ownsParent: true,
  });
  const digest = result.kind === 'candidate' ? checkpointDigest(result) : `none: ${result.detail}`;
  return digest === expected
    ? { ...about, kind: 'same', digest }
    : { ...about, kind: 'different', digest, expected };
}
