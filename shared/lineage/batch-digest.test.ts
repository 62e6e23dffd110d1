import { expect, test } from 'vitest';
import { BatchSubmitted } from '../events/batch-submitted.ts';
import { defaultTrainingSettings } from '../policy/train/training-defaults.ts';
import { batchDigest } from './batch-digest.ts';

const batch: BatchSubmitted['data'] = {
  batchId: 'default/batch/3',
  adapter: 'default',
  n: 3,
  parent: 2,
  size: 2,
  maxStaleness: 4,
  samples: [
    { sampleId: 'a', at: { partition: 0, offset: 7 } },
    { sampleId: 'b', at: { partition: 0, offset: 9 } },
  ],
  settings: { ...defaultTrainingSettings('claw-nano').settings, epochs: 1 },
  seed: 11,
};

test('every field of a batch changes its digest', () => {
  const [a, b] = batch.samples;
  const others: readonly BatchSubmitted['data'][] = [
    { ...batch, batchId: 'default/batch/4' },
    { ...batch, adapter: 'other' },
    { ...batch, n: 4 },
    { ...batch, parent: 1 },
    { ...batch, size: 3 },
    { ...batch, maxStaleness: 5 },
    { ...batch, seed: 12 },
    { ...batch, samples: [a!] },
    { ...batch, samples: [b!, a!] },
    { ...batch, samples: [{ ...a!, sampleId: 'c' }, b!] },
    { ...batch, samples: [{ ...a!, at: { partition: 1, offset: 7 } }, b!] },
    ...Object.entries(batch.settings).map(([name, value]) => ({
      ...batch,
      settings: {
        ...batch.settings,
        [name]: typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : `${value}x`,
      },
    })),
  ];
  const digests = [batch, ...others].map(batchDigest);
  expect(new Set(digests).size).toBe(digests.length);
});

test('a batch of an earlier version keeps its digest after this version has read it', () => {
  const { epochs, distillation, topK, training, ...earlier } = batch.settings;
  const written = { ...batch, settings: earlier } as BatchSubmitted['data'];
  const read = BatchSubmitted.schema.parse(JSON.parse(JSON.stringify(written)));
  expect(read.settings).toMatchObject({ epochs: 1, training: 'lora' });
  expect(batchDigest(written)).toBe(batchDigest(read));
});
