import { expect, test } from 'vitest';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import { between, passGate } from './gate.ts';
import { localTraining } from './local-trainee.ts';
import { type Candidate, step } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { klDivergence, toyEngine, toyLogProbs } from './testing/toy-engine.ts';

const sequences = [{ promptIds: [1, 2, 3], responseIds: [4] }];
const fresh = toyEngine.createAdapter({ training: 'lora', rank: 1, alpha: 1, seed: 1 });
/** An adapter with these logits; A is 1. */
const withLogits = (...logits: readonly number[]): TrainedWeights => {
  const [a, b] = [...fresh.tensors.keys()];
  return {
    ...fresh,
    tensors: new Map([
      [a!, { shape: [1, 1], values: Float32Array.of(1) }],
      [b!, { shape: [5, 1], values: Float32Array.from(logits) }],
    ]),
  };
};
const none = withLogits(0, 0, 0, 0, 0);
const klToUniform = (adapter: TrainedWeights) => klDivergence(toyLogProbs(adapter), toyLogProbs(undefined));

const wide = { gateMeanKl: 100, gateLeastScale: 0.125 };

test('a step within its bounds is taken whole, and both distances are reported', () => {
  const to = withLogits(1, 0, 0, 0, 0);
  const made = passGate(toyEngine, { parent: undefined, from: none, to, sequences }, wide);
  expect(made).toMatchObject({ adapter: to, gate: { passed: true }, stepScale: 1 });
  expect(made.distances.meanKl).toBeCloseTo(klToUniform(to), 9);
  expect(made.distances.klToBase).toBe(made.distances.meanKl);
});

test('a step beyond a bound is shortened to the largest eighth within it', () => {
  const to = withLogits(4, 0, 0, 0, 0);
  const kls = [1, 2, 3, 4, 5, 6, 7, 8].map((eighths) => klToUniform(between(none, to, eighths / 8)));
  const stride = { parent: undefined, from: none, to, sequences };
  kls.slice(0, 7).forEach((kl, index) => {
    const bound = (kl + kls[index + 1]!) / 2;
    for (const bounds of [
      { ...wide, gateMeanKl: bound },
      { ...wide, gateBaseKl: bound },
    ]) {
      const made = passGate(toyEngine, stride, bounds);
      expect(made).toMatchObject({ gate: { passed: true }, stepScale: (index + 1) / 8 });
      expect(klToUniform(made.adapter)).toBeCloseTo(kl, 6);
    }
  });
  const refused = passGate(toyEngine, stride, { ...wide, gateMeanKl: kls[0]! / 2 });
  expect(refused).toMatchObject({ adapter: to, stepScale: 0, gate: { passed: false } });
  expect(refused.gate).toMatchObject({ reason: 'kl-to-parent', figures: { limit: kls[0]! / 2 } });
});

test('below an eighth a step is halved until it is within the bound, to no less than the smallest part', () => {
  const to = withLogits(8, 0, 0, 0, 0);
  const stride = { parent: undefined, from: none, to, sequences };
  const klOf = (scale: number) => klToUniform(between(none, to, scale));
  const bounds = { gateMeanKl: 1.01 * klOf(1 / 32), gateLeastScale: 1 / 64 };
  const made = passGate(toyEngine, stride, bounds);
  expect(made).toMatchObject({ gate: { passed: true }, candidateScale: 1 / 32, stepScale: 1 / 32 });
  expect(made.distances.meanKl).toBeCloseTo(klOf(1 / 32), 6);
  expect(passGate(toyEngine, stride, { ...bounds, gateLeastScale: 1 / 16 }).gate.passed).toBe(false);
  expect(passGate(toyEngine, stride, { ...bounds, gateMeanKl: 0.5 * klOf(1 / 64) }).gate.passed).toBe(false);
});

test('older batches without a smallest part take the whole step or none', () => {
  const to = withLogits(4, 0, 0, 0, 0);
  const stride = { parent: undefined, from: none, to, sequences };
  const { gate } = passGate(toyEngine, stride, { gateMeanKl: 0.5, gateLeastScale: 1 });
  expect(gate).toMatchObject({ passed: false, reason: 'kl-to-parent' });
  const half = passGate(toyEngine, stride, { gateMeanKl: klToUniform(to) / 2, gateLeastScale: 0.5 });
  expect(half.stepScale).toBeGreaterThanOrEqual(0.5);
});

test('beyond the bound to the base, only a step closer to it passes', async () => {
  const parent = withLogits(3, 0, 0, 0, 0);
  const bounds = { ...wide, gateBaseKl: 0.1 };
  const step = (to: TrainedWeights) => passGate(toyEngine, { parent, from: parent, to, sequences }, bounds);
  const farther = await step(withLogits(3.5, 0, 0, 0, 0));
  expect(farther.gate).toMatchObject({ passed: false, reason: 'kl-to-base' });
  expect(farther.gate).toMatchObject({ figures: { limit: 0.1, parent: klToUniform(parent) } });
  expect(await step(withLogits(2.5, 0, 0, 0, 0))).toMatchObject({ gate: { passed: true }, stepScale: 1 });
});

test('the next version starts from a shortened step', async () => {
  const samples = [sampleData('a', { tokens: { responseIds: [4], logProbs: [Math.log(0.2)] } })];
  const settings = { rank: 2, alpha: 2, learningRate: 1, gateMeanKl: 0.01, gateLeastScale: 0.125 };
  const make = async (n: number, parent: Candidate | undefined, changes = {}) => {
    const batch = batchData(n, samples, { ...settings, ...changes });
    const result = await step(localTraining(toyEngine), { parent, batch, samples });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    return result;
  };
  const whole = await make(1, undefined, { gateMeanKl: 100 });
  const part = await make(1, undefined, { gateMeanKl: whole.metrics.meanKl! / 4 });
  expect(part.metrics.stepScale).toBeLessThan(1);
  expect(part.metrics.meanKl).toBeLessThan(whole.metrics.meanKl! / 4);
  expect(part.metrics.klToBase).toBe(part.metrics.meanKl);
  // The moments are those of the whole step.
  expect(part.optimizer).toEqual(whole.optimizer);
  expect((await make(2, part, { gateMeanKl: 100 })).gate).toEqual({ passed: true });
});
