import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { largestDifference } from '../testing/backends.ts';
import { describeLossCases } from '../testing/loss-cases.ts';
import { createAdamW, emptyAdamWState, gradientNorm } from './adamw.ts';

const Values = z.record(z.string(), z.unknown());
const Case = z.looseObject({
  note: z.string(),
  inputs: z.looseObject({ weights: Values.optional(), gradients: z.array(Values).optional() }),
  options: z.looseObject({
    lr: z.number().optional(),
    betas: z.tuple([z.number(), z.number()]).optional(),
    eps: z.number().optional(),
    weight_decay: z.number().optional(),
    max_norm: z.number().nullish(),
  }),
  steps: z
    .array(z.object({ total_norm: z.number().nullish(), weights: Values, m: Values, v: Values }))
    .optional(),
});

/** Nested lists as one. */
const flat = (value: unknown): number[] => (Array.isArray(value) ? value.flatMap(flat) : [value as number]);
const named = (values: z.infer<typeof Values>): Map<string, Float32Array> =>
  new Map(Object.entries(values).map(([name, value]) => [name, Float32Array.from(flat(value))]));

describe('AdamW equals the reference', () => {
  describeLossCases('adamw', { group: 'adamw', schema: Case, count: 6 }, ({ inputs, options, steps }) => {
    const adamw = createAdamW({
      learningRate: options.lr!,
      beta1: options.betas![0],
      beta2: options.betas![1],
      epsilon: options.eps!,
      weightDecay: options.weight_decay!,
      ...(options.max_norm != null && { maxGradientNorm: options.max_norm }),
    });
    const weights = named(inputs.weights!);
    const state = emptyAdamWState();
    for (const [index, wanted] of steps!.entries()) {
      const gradients = named(inputs.gradients![index]!);
      const { gradientNorm: norm } = adamw.step(weights, gradients, state);
      if (wanted.total_norm != null) expect(norm / wanted.total_norm).toBeCloseTo(1, 6);
      for (const [name, values] of weights) {
        const relative = Math.max(1, ...flat(wanted.weights[name]).map(Math.abs));
        expect(largestDifference(values, flat(wanted.weights[name])) / relative, name).toBeLessThan(1e-6);
        expect(largestDifference(state.first.get(name)!, flat(wanted.m[name])), name).toBeLessThan(1e-6);
        expect(largestDifference(state.second.get(name)!, flat(wanted.v[name])), name).toBeLessThan(1e-6);
      }
    }
    expect(state.step).toBe(steps!.length);
  });
});

test('a non-finite norm changes nothing', () => {
  const adamw = createAdamW({ learningRate: 0.1 });
  const parameters = new Map([['w', Float32Array.of(1, 2)]]);
  const state = emptyAdamWState();
  expect(() => adamw.step(parameters, new Map([['w', Float32Array.of(Number.NaN, 0)]]), state)).toThrow(
    'norm',
  );
  expect([...parameters.get('w')!]).toEqual([1, 2]);
  expect(state.step).toBe(0);
});

test('a stored state continues identically', () => {
  const adamw = createAdamW({ learningRate: 0.1, weightDecay: 0.1, decays: (name) => name !== 'bias' });
  const start = () =>
    new Map([
      ['w', Float32Array.of(1, -2)],
      ['bias', Float32Array.of(0.5)],
    ]);
  const gradients = new Map([
    ['w', Float32Array.of(0.3, 0.4)],
    ['bias', Float32Array.of(0)],
  ]);
  expect(gradientNorm(gradients)).toBeCloseTo(0.5, 6);
  const [a, b, state] = [start(), start(), emptyAdamWState()];
  for (let i = 0; i < 4; i++) adamw.step(a, gradients, state);
  let copy = emptyAdamWState();
  for (let i = 0; i < 4; i++) {
    adamw.step(b, gradients, copy);
    copy = structuredClone(copy);
  }
  expect(b).toEqual(a);
  expect(a.get('bias')![0]).toBe(0.5); // neither gradient nor decay
});
