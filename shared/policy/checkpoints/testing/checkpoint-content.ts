import { createHash } from 'node:crypto';
import { defaultTrainingSettings } from '../../train/training-defaults.ts';
import type { AdapterFile } from '../adapter-files.ts';
import { checkpointName } from '../checkpoint-store.ts';
import { type CheckpointContent, checkpointDigest } from '../state.ts';

const batchId = (version: number) => `default/batch/${version}`;
const digestOfBatch = (version: number) => createHash('sha256').update(batchId(version)).digest('hex');
/** Name of the checkpoint of a test's batch. */
export const nameOf = (version: number) => checkpointName(version, digestOfBatch(version));

/** A small checkpoint, as a step makes it. */
export function content(version: number, { parent = version - 1, fill = version / 7 } = {}) {
  const tensor = (shape: readonly number[]) => ({
    shape,
    values: new Float32Array(shape.reduce((a, b) => a * b)).fill(fill),
  });
  const names = ['A', 'B'].map((side) => `base_model.model.model.layers.0.mlp.up_proj.lora_${side}.weight`);
  const adapter: AdapterFile = {
    kind: 'lora',
    config: { rank: 2, alpha: 4, targets: ['up_proj'] },
    tensors: new Map([
      [names[0]!, tensor([2, 3])],
      [names[1]!, tensor([5, 2])],
    ]),
  };
  const moments = (by: number) =>
    new Map(names.map((name) => [name, adapter.tensors.get(name)!.values.map((x) => x * by)]));
  const optimizer = { step: version, first: moments(0.1), second: moments(0.01) };
  const baseline = { value: 1 / 3, count: 4 * version };
  return {
    adapter,
    optimizer,
    state: {
      format: 1,
      version,
      parent,
      batchId: batchId(version),
      adapter: 'default',
      logId: 'log',
      model: 'claw-nano',
      baseDigest: 'base',
      settings: defaultTrainingSettings('claw-nano').settings,
      seed: 7,
      samples: 4,
      baseline,
      optimizerStep: version,
      gate: { passed: true },
      metrics: { loss: -0.1 },
      fingerprint: 'here',
      milliseconds: 12,
      digest: checkpointDigest({ adapter, optimizer, baseline }),
    },
  } satisfies CheckpointContent;
}
