import { expect, test } from 'vitest';
import { logSoftmax, logSoftmaxVjp } from '../testing/distribution.ts';
import { klLoss } from './kl.ts';

const logits = [0.3, -1.2, 2.1, 0, -4];
const base = logSoftmax([-0.5, 0.8, 1, -2, 0.1]);

/** KL(a || b) in closed form, nats */
const kl = (a: Float64Array, b: Float64Array) =>
  a.reduce((sum, logA, id) => sum + Math.exp(logA) * (logA - b[id]!), 0);

/** The expected gradient by the logits of the estimator as a loss, over the tokens that the policy samples. */
function expectedGradient(estimator: 'k2' | 'k3'): Float64Array {
  const policy = logSoftmax(logits);
  const shares = [policy.map(Math.exp)]; // the expectation: each token once, with its probability
  const { gradient } = klLoss([policy], [base], shares, estimator);
  return logSoftmaxVjp(policy, new Map([...gradient[0]!].map((slope, id) => [id, slope])));
}

function finiteDifferences(f: (logits: readonly number[]) => number): readonly number[] {
  const h = 1e-5;
  return logits.map((value, id) => (f(logits.with(id, value + h)) - f(logits.with(id, value - h))) / (2 * h));
}

test('as a loss k2 has the gradient of KL(policy || base), and k3 that of KL(base || policy)', () => {
  const reverse = finiteDifferences((at) => kl(logSoftmax(at), base));
  const forward = finiteDifferences((at) => kl(base, logSoftmax(at)));
  expectedGradient('k2').forEach((slope, id) => void expect(slope).toBeCloseTo(reverse[id]!, 8));
  expectedGradient('k3').forEach((slope, id) => void expect(slope).toBeCloseTo(forward[id]!, 8));
  expect(Math.abs(reverse[4]! - forward[4]!)).toBeGreaterThan(0.1);
});
