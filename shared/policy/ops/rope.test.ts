import { expect, test } from 'vitest';
import type { ModelConfig } from '../model/model-config.ts';
import { ropeFrequencies } from './rope.ts';

test('Llama 3 stretches long wavelengths, keeps short ones, and blends in between', () => {
  const scaling = {
    type: 'llama3',
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalPositions: 64,
  } as const;
  const plain = ropeFrequencies({ headSize: 16, ropeTheta: 10_000, ropeScaling: undefined } as ModelConfig);
  const scaled = ropeFrequencies({ headSize: 16, ropeTheta: 10_000, ropeScaling: scaling } as ModelConfig);
  const ratios = plain.map((frequency, i) => frequency / scaled[i]!);
  expect(ratios[0]).toBe(1);
  expect(ratios.at(-1)).toBeCloseTo(8);
  expect(ratios.some((ratio) => ratio > 1.01 && ratio < 7.9)).toBe(true);
});
