import { expect, test } from 'vitest';
import { learningRateAt } from './learning-rate.ts';

test('the rate rises in equal steps, then stays', () => {
  const rates = Array.from({ length: 6 }, (_, taken) =>
    learningRateAt({ learningRate: 0.08, warmUpSteps: 4 }, taken),
  );
  expect(rates).toEqual([0.02, 0.04, 0.06, 0.08, 0.08, 0.08]);
});

test('without a warm-up every step has the full rate', () => {
  for (const warmUpSteps of [undefined, 0, 1])
    expect(learningRateAt({ learningRate: 0.3, warmUpSteps }, 0)).toBe(0.3);
});
