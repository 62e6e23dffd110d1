import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openCheckpoint } from './checkpoint.ts';
import { CheckpointDamaged, checkpointName, commitCheckpoint, readCheckpoint } from './checkpoint-store.ts';
import { readServed } from './checkpoint-store-served.ts';
import { checkpointDigest, sealNumbers } from './checkpoint-store-state.ts';
import { modelFolder } from './model-folder.ts';
import type { TensorData } from './safetensors.ts';
import { defaultTrainingSettings } from './training-defaults.ts';

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
    ...{ adapter, optimizer },
    state: {
      ...({ format: 1, version: 1, parent: 0, batchId: 'default/batch/1', adapter: 'default' } as const),
      ...{ logId: 'log', model: 'claw-nano', baseDigest: 'base', settings, seed: 7, samples: 4, baseline },
      ...{ optimizerStep: 3, gate: { passed: true } as const, metrics: {}, fingerprint: 'here' },
      milliseconds: 1,
      ...sealNumbers(numbers),
    },
  };
  const { checkpoint } = await commitCheckpoint(store, checkpointName(1, 'b'.repeat(64)), content, clawNano);
  return { numbers, checkpoint };
}

test('a version that is all weights is read back bit by bit, and its digest is of every number', async () => {
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

test('a server checks the weights and leaves the moments alone', async () => {
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
