import { expect, test } from 'vitest';
import { openCheckpoint } from './checkpoint.ts';
import { modelFolder } from './model-folder.ts';
import { activationBytes, recomputes } from './recompute.ts';

/** SmolLM2-135M's sizes. */
const small = {
  layers: 30,
  hiddenSize: 576,
  heads: 9,
  keyValueHeads: 3,
  headSize: 64,
  intermediateSize: 1536,
} as const;

test('whether layers are computed again follows from the sizes', async () => {
  const { config } = await openCheckpoint(modelFolder('claw-nano'));
  expect(recomputes(config, 4096)).toBe(false); // a full part of claw-nano
  const dimensions = { ...config, ...small };
  expect(recomputes(dimensions, 512)).toBe(false);
  expect(recomputes(dimensions, 2048)).toBe(true);
  expect(activationBytes(dimensions, 2048) / activationBytes(dimensions, 512)).toBe(4);
});
