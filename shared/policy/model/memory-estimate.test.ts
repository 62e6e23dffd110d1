import { expect, test } from 'vitest';
import { clawNanoConfig } from '../../claw-nano/model-files.ts';
import { initialWeights } from './initialise.ts';
import { createLora } from './lora.ts';
import { estimateMemory, trainingPeak } from './memory-estimate.ts';

const size = { rank: 8, tokens: 512, responseTokens: 128 };

test('the estimate counts the weights and the adapter that are created', () => {
  const bytes = (arrays: Iterable<Float32Array>) =>
    [...arrays].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const weights = initialWeights(clawNanoConfig, 1);
  const { tensors } = createLora(clawNanoConfig, { rank: 8, alpha: 16, seed: 1 });
  const estimate = estimateMemory(clawNanoConfig, size);
  expect(estimate.weights).toBe(bytes(weights.values()));
  expect(estimate.version).toBe(bytes([...tensors.values()].map(({ values }) => values)));
});

test('full weights count beside the base, with gradients, moments and copies', () => {
  const full = estimateMemory(clawNanoConfig, size, 'full');
  const { weights, step } = estimateMemory(clawNanoConfig, size);
  expect(full).toMatchObject({ weights, version: weights });
  expect(full.step).toEqual({ ...step, optimizer: 3 * weights, copies: 3 * weights });
  expect(trainingPeak(full)).toBeGreaterThan(8 * weights);
});

test('a long recomputed sample needs less than a shorter one that is not recomputed', () => {
  const wide = {
    ...clawNanoConfig,
    layers: 30,
    hiddenSize: 576,
    intermediateSize: 1536,
    heads: 9,
    keyValueHeads: 3,
  };
  const short = estimateMemory(wide, size).step;
  const long = estimateMemory(wide, { ...size, tokens: 2048 }).step;
  expect([short.recomputed, long.recomputed]).toEqual([false, true]);
  expect(long.activations).toBeLessThan(short.activations);
});
