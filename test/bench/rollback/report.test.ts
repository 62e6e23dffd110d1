import { expect, test } from 'vitest';
import { confidence } from './report.ts';

// Closed forms: n trials without a success give at most 1 - 0.025^(1/n), without a failure at least 0.025^(1/n).
test.each([
  [0, 20, 0, 1 - 0.025 ** (1 / 20)],
  [5, 5, 0.025 ** (1 / 5), 1],
  // Clopper and Pearson's interval for 10 of 20, as in the published tables
  [10, 20, 0.272, 0.728],
])('the confidence interval of %d of %d', (successes, trials, low, high) => {
  const [from, to] = confidence(successes, trials);
  expect(from).toBeCloseTo(low, 3);
  expect(to).toBeCloseTo(high, 3);
});
