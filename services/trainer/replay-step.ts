import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { PolicyTrained } from '../../shared/events/policy-trained.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import { readToEnd } from '../../shared/log/read-topic.ts';
import {
  CheckpointDamaged,
  type CheckpointStore,
  type StoredCheckpoint,
} from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { checkpointDigest } from '../../shared/policy/checkpoints/state.ts';
import { isServiceError } from '../../shared/runtime/errors.ts';
import { isRefusal } from '../../shared/runtime/refusal.ts';
import { isOfServer, readFingerprint } from './fingerprint.ts';
import type { LearningEngine } from './learning-engine.ts';
import { localTraining } from './local-trainee.ts';
import { isGoneForGood, readEarlier, readSamples } from './read-samples.ts';
import { type StepInput, step } from './step.ts';

/** The result of training one version again. */
export type Replayed = {
  readonly adapter: string;
  readonly version: number;
  /** fingerprint of the runtime that trained it */
  readonly runtime: string;
} & (
  | { readonly kind: 'same'; readonly digest: string }
  | { readonly kind: 'close'; readonly apart: number }
  | { readonly kind: 'different'; readonly digest: string; readonly expected: string }
  | { readonly kind: 'not-covered'; readonly why: string }
);

export type TrainedVersion = {
  readonly batch: BatchSubmitted['data'];
  readonly trained: PolicyTrained['data'];
  /** folder name of the parent's checkpoint; undefined: the base, or unknown to the log */
  readonly parent: string | undefined;
};

/** Every trained version, from its first `policy.trained`, in log order. */
export async function trainedVersions(log: Pick<EventLog, 'follow'>): Promise<readonly TrainedVersion[]> {
  const batches = new Map<string, BatchSubmitted['data']>();
  const versions = new Map<string, TrainedVersion>();
  const checkpoints = new Map<string, string>();
  const versionName = (adapter: string, version: number) => `${version} of ${adapter}`;
  const onRecord = ({ event }: Recorded) => {
    if (event.type === 'batch.submitted' && !batches.has(event.data.batchId))
      batches.set(event.data.batchId, event.data);
    if (event.type === 'policy.promoted')
      checkpoints.set(versionName(event.subject, event.data.to), event.data.checkpoint);
    if (event.type !== 'policy.trained' || versions.has(event.data.batchId)) return;
    const batch = batches.get(event.data.batchId);
    if (batch === undefined) return;
    const parent = checkpoints.get(versionName(event.subject, batch.parent));
    versions.set(batch.batchId, { batch, trained: event.data, parent });
  };
  const wants = new Set(['batch.submitted', 'policy.promoted', 'policy.trained']);
  await readToEnd(log, 'training', onRecord, { wants });
  return [...versions.values()];
}

const ON_SERVER =
  'it was trained on a training server, which does not repeat every bit; with --training-engine tinker and the flags of that server it is trained there again and compared within bounds';

/** What a version was trained from, or why it is not known any more. */
export async function replayInput(
  { batch, trained, parent: parentName }: TrainedVersion,
  { log, storeOf }: ReplaySources,
): Promise<StepInput | { readonly why: string }> {
  let parent: StoredCheckpoint | undefined;
  try {
    const store = storeOf(trained.adapter);
    if (parentName !== undefined && (await store.has(parentName))) parent = await store.read(parentName);
  } catch (error) {
    if (!(error instanceof CheckpointDamaged)) throw error;
    return { why: error.message };
  }
  if (batch.parent !== 0 && parent === undefined)
    return { why: `the checkpoint of its parent v${batch.parent} was removed` };
  try {
    const read = { samples: await readSamples(log, batch), earlier: await readEarlier(log, batch) };
    const { adapter, optimizer } = parent ?? {};
    return {
      parent:
        adapter === undefined || optimizer === undefined
          ? undefined
          : { adapter, optimizer, baseline: parent!.state.baseline },
      batch,
      ...read,
    };
  } catch (error) {
    if (!isGoneForGood(error)) throw error;
    return { why: (error as Error).message };
  }
}

type ReplaySources = {
  readonly log: Pick<EventLog, 'read'>;
  readonly storeOf: (adapter: string) => CheckpointStore;
};

/** Trains one version again from its parent's checkpoint and its samples in the log, and compares digests. */
export async function replayVersion(
  { batch, trained, parent: parentName }: TrainedVersion,
  { log, engine, storeOf }: ReplaySources & { readonly engine: LearningEngine },
): Promise<Replayed> {
  const { adapter, version, digest: expected } = trained;
  const { runtime, teacherDigest } = readFingerprint(trained.fingerprint);
  const about = { adapter, version, runtime };
  if (isOfServer(trained.fingerprint)) return { ...about, kind: 'not-covered', why: ON_SERVER };
  const input = await replayInput({ batch, trained, parent: parentName }, { log, storeOf });
  if ('why' in input) return { ...about, kind: 'not-covered', why: input.why };
  try {
    const teacher = await engine.prepare(batch.settings);
    if (teacher.teacherDigest !== teacherDigest)
      return {
        ...about,
        kind: 'not-covered',
        why: `the teacher ${batch.settings.teacher} has changed since then`,
      };
  } catch (error) {
    // A missing or changed teacher does not affect the other versions.
    if (!isRefusal(error) && !isServiceError(error)) throw error;
    return { ...about, kind: 'not-covered', why: error.message };
  }
  const result = await step(localTraining(engine), { ...input, ownsParent: true });
  const digest = result.kind === 'candidate' ? checkpointDigest(result) : `none: ${result.detail}`;
  return digest === expected
    ? { ...about, kind: 'same', digest }
    : { ...about, kind: 'different', digest, expected };
}
