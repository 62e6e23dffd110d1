import { expect, test } from 'vitest';
import { openCheckpoint } from '../checkpoints/checkpoint.ts';
import { modelFolder } from '../model/model-folder.ts';
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

test('the sizes decide whether layers are computed again', async () => {
  const { config } = await openCheckpoint(modelFolder('claw-nano'));
  // full parts of claw-nano: of short texts, and the one of its longest
  expect(recomputes(config, 32, 128)).toBe(false);
  expect(recomputes(config, 1, 2048)).toBe(false);
  const dimensions = { ...config, ...small };
  expect(recomputes(dimensions, 1, 512)).toBe(false);
  expect(recomputes(dimensions, 1, 1024)).toBe(true);
  expect(recomputes(dimensions, 8, 128)).toBe(true);
  // Sequences side by side add up; longer ones cost more than that, by their attention.
  const [one, four, long] = [
    activationBytes(dimensions, 1, 512),
    activationBytes(dimensions, 4, 512),
    activationBytes(dimensions, 1, 2048),
  ];
  expect(four / one).toBe(4);
  expect(long / one).toBeGreaterThan(7);
});
