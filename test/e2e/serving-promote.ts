import { createHash } from 'node:crypto';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import type { TrainingKind } from '../../shared/events/training-settings.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { readAdapter } from '../../shared/policy/checkpoints/adapter-files.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { checkpointName, openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import { type CheckpointState, sealNumbers } from '../../shared/policy/checkpoints/state.ts';
import { modelDigest } from '../../shared/policy/model/model-digest.ts';
import { referencePath } from '../../shared/policy/testing/reference-fixtures.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { tinyModel } from './serving-process.ts';

const adapterFolder = referencePath('models/qwen3-tiny/lora');
const written = (id: string) => ({ id, source: 'test', time: new Date().toISOString() });

/**
 * Commits a checkpoint as a trainer does: the fixture's adapter, or all weights of its model, changed so much by
 * `strength` that the answers of each version differ.
 */
export async function commitVersion(
  store: string,
  {
    version,
    parent,
    strength,
    training = 'lora',
    adapter: name = 'default',
    baseDigest,
  }: {
    readonly version: number;
    readonly parent: number;
    readonly strength: number;
    readonly training?: TrainingKind;
    readonly adapter?: string;
    /** default: that of the fixture's model */
    readonly baseDigest?: string;
  },
): Promise<{ readonly checkpoint: string; readonly digest: string }> {
  const adapter = await (training === 'full' ? movedWeights(strength) : scaledAdapter(strength));
  const optimizer = { step: 0, first: new Map(), second: new Map() };
  const baseline = { value: 0, count: 0 };
  const sealed = sealNumbers({ adapter, optimizer, baseline });
  const state: CheckpointState = {
    format: 1,
    version,
    parent,
    batchId: `${name}/batch/${version}`,
    adapter: name,
    logId: 'log',
    model: 'qwen3-tiny',
    baseDigest: baseDigest ?? (await modelDigest(tinyModel)),
    settings: defaultTrainingSettings('claw-nano', training).settings,
    seed: version,
    samples: 1,
    baseline,
    optimizerStep: 0,
    gate: { passed: true },
    metrics: {},
    fingerprint: 'test',
    milliseconds: 1,
    ...sealed,
  };
  const checkpoint = checkpointName(version, createHash('sha256').update(state.batchId).digest('hex'));
  await openCheckpointStore(store).commit(checkpoint, { adapter, optimizer, state }, tinyModel);
  return { checkpoint, digest: sealed.digest };
}

async function scaledAdapter(strength: number): Promise<TrainedWeights> {
  const file = await readAdapter(adapterFolder);
  const tensors = new Map(
    [...file.tensors].map(([name, { shape, values }]) => [
      name,
      { shape, values: name.includes('lora_B') ? values.map((value) => value * strength) : values },
    ]),
  );
  return { ...file, tensors };
}

async function movedWeights(strength: number): Promise<TrainedWeights> {
  const { names, shape, float32 } = await openCheckpoint(tinyModel);
  const moved = (value: number, index: number) => value * (1 + 0.3 * strength * Math.sin(index));
  return {
    kind: 'full',
    tensors: new Map(
      names.map((name) => [name, { shape: shape(name), values: float32(name).map(moved) }] as const),
    ),
  };
}

/** The facts that make a committed checkpoint the head. */
export async function promote(
  log: EventLog,
  {
    version,
    parent,
    checkpoint,
    digest,
    adapter = 'default',
  }: { version: number; parent: number; checkpoint: string; digest: string; adapter?: string },
): Promise<void> {
  const batchId = `${adapter}/batch/${version}`;
  const data = {
    batchId,
    adapter,
    n: version,
    parent,
    size: 1,
    maxStaleness: 4,
    samples: [],
    settings: defaultTrainingSettings('claw-nano').settings,
    seed: version,
  };
  await log.append([
    BatchSubmitted.create({ ...written(batchId), data }),
    PolicyPromoted.create({
      ...written(`${batchId}/promoted`),
      data: { batchId, adapter, from: parent, to: version, checkpoint, digest },
    }),
  ]);
}

export const rollBack = (log: EventLog, from: number, to: number): Promise<void> =>
  log.append([
    PolicyRolledBack.create({ ...written(`rollback-${from}-${to}`), data: { adapter: 'default', from, to } }),
  ]);
