import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { modelFolder } from '../model/model-folder.ts';
import { defaultTrainingSettings } from '../train/training-defaults.ts';
import { openCheckpoint } from './checkpoint.ts';
import { readCheckpoint } from './checkpoint-files.ts';
import { CheckpointDamaged, checkpointName, openCheckpointStore } from './checkpoint-store.ts';
import type { TensorData } from './safetensors.ts';
import { readServed } from './served.ts';
import { checkpointDigest, sealNumbers } from './state.ts';

const clawNano = modelFolder('claw-nano');
let store: string;
beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'clawloop-served-'));
});
afterEach(() => rm(store, { recursive: true }));

async function commitFull() {
  const source = await openCheckpoint(clawNano);
  const tensors = new Map<string, TensorData>(
    source.names.map((name) => [name, { shape: source.shape(name), values: source.float32(name) }]),
  );
  const adapter = { kind: 'full', tensors } as const;
  const moments = (fill: number) =>
    new Map([...tensors].map(([name, { values }]) => [name, new Float32Array(values.length).fill(fill)]));
  const optimizer = { step: 3, first: moments(0.5), second: moments(0.25) };
  const baseline = { value: 0.1, count: 4 };
  const { settings } = defaultTrainingSettings('claw-nano', 'full');
  const numbers = { adapter, optimizer, baseline };
  const content = {
    adapter,
    optimizer,
    state: {
      ...({ format: 1, version: 1, parent: 0, batchId: 'default/batch/1', adapter: 'default' } as const),
      logId: 'log',
      model: 'claw-nano',
      baseDigest: 'base',
      settings,
      seed: 7,
      samples: 4,
      baseline,
      optimizerStep: 3,
      gate: { passed: true } as const,
      metrics: {},
      fingerprint: 'here',
      milliseconds: 1,
      ...sealNumbers(numbers),
    },
  };
  const { checkpoint } = await openCheckpointStore(store).commit(
    checkpointName(1, 'b'.repeat(64)),
    content,
    clawNano,
  );
  return { numbers, checkpoint };
}

test('full weights are read back bit by bit, and the digest covers every number', async () => {
  const { numbers, checkpoint } = await commitFull();
  const read = await readCheckpoint(checkpoint.folder);
  expect(read.state).toEqual(checkpoint.state);
  expect(read.adapter).toEqual(numbers.adapter);
  expect(read.optimizer).toEqual(numbers.optimizer);
  const { optimizer, baseline } = numbers;
  const [name, values] = [...optimizer.first][3]!;
  const first = new Map([...optimizer.first, [name, values.with(1, 9)]]);
  const digests = [
    read.state.digest,
    checkpointDigest({ ...numbers, baseline: { ...baseline, count: 5 } }),
    checkpointDigest({ ...numbers, optimizer: { ...optimizer, step: 4 } }),
    checkpointDigest({ ...numbers, optimizer: { ...optimizer, first } }),
  ];
  expect(new Set(digests).size).toBe(digests.length);
});

test('a server checks the weights and does not read the moments', async () => {
  const { checkpoint } = await commitFull();
  await rm(join(checkpoint.folder, 'optimizer.safetensors'));
  const { state, trained } = await readServed(checkpoint.folder);
  expect(state.digest).toBe(checkpoint.state.digest);
  expect(trained).toHaveProperty('float32');

  const path = join(checkpoint.folder, 'model.safetensors');
  const bytes = await readFile(path);
  bytes[bytes.length - 1]! ^= 1;
  await writeFile(path, bytes);
  await expect(readServed(checkpoint.folder)).rejects.toThrow(CheckpointDamaged);
});
