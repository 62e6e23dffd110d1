import { expect, test } from 'vitest';
import { createLora } from '../../shared/policy/model/lora.ts';
import { randomModels } from '../../test/fixtures/make-random-model.ts';
import { adapterCount, meanWait, serverMemory, weightCount } from './training-server-estimates.ts';

// The counts of the published models.
test.each([
  ['qwen3-0.6b', 596_049_920],
  ['qwen3-1.7b', 1_720_574_976],
  ['qwen3-4b', 4_022_468_096],
  ['qwen3-8b', 8_190_735_360],
] as const)('%s has %i weights', (name, count) => {
  expect(weightCount(randomModels[name])).toBe(count);
});

test('an adapter has as many values as one that is created', () => {
  const config = { ...randomModels['qwen3-0.6b'], vocabularySize: 100, layers: 2 };
  const { tensors } = createLora(config, { rank: 4, alpha: 8, seed: 1 });
  const values = [...tensors.values()].reduce((sum, tensor) => sum + tensor.values.length, 0);
  expect(adapterCount(config, 4)).toBe(values);
});

test('the optimizers of a server grow with loaded models times slots', () => {
  const config = randomModels['qwen3-0.6b'];
  const of = (loaded: number, slots: number) =>
    serverMemory(config, { slots, loaded, rank: 16, tokens: 8192 }).optimizers;
  expect(of(8, 9)).toBe(8 * 2 * 9 * 2 * adapterCount(config, 16));
  expect(of(16, 18) / of(8, 9)).toBe(4);
});

test('a queue that is loaded by half waits half a service time, and one that is full has no end', () => {
  expect(meanWait(0.5, 1)).toBe(0.5);
  expect(meanWait(1, 1)).toBe(Number.POSITIVE_INFINITY);
});
