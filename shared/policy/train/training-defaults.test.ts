import { expect, test } from 'vitest';
import { defaultTrainingSettings, unmeasuredNote } from './training-defaults.ts';

test('rates of Qwen3 fall with the size by the formula of docs/understand/learning.md', () => {
  const rate = (model: string) => defaultTrainingSettings(model).settings.learningRate;
  const sizes: Readonly<Record<string, number>> = { '0.6B': 1024, '1.7B': 2048, '4B': 2560, '8B': 4096 };
  for (const [size, hidden] of Object.entries(sizes))
    expect(rate(`Qwen/Qwen3-${size}`)).toBeCloseTo(1e-4 * (1024 / hidden) ** 0.0775, 6);
  expect(rate('/models/qwen3-8b-instruct')).toBe(rate('Qwen/Qwen3-8B'));
  expect(rate('HuggingFaceTB/SmolLM2-135M')).toBe(1e-4);
});

test('an unmeasured model gets a note', () => {
  expect(unmeasuredNote('claw-nano')).toBeUndefined();
  expect(unmeasuredNote('Qwen/Qwen3-4B')).toMatch(/Qwen3-4B are not measured/);
});
