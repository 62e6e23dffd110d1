import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { describeLossCases, expectAllClose, expectClose, row, rows } from '../testing/loss-cases.ts';
import { advantageOf, initialBaseline, updateBaseline } from './baseline.ts';
import { binaryLoss, type ClipSettings, type PolicyBatch } from './binary.ts';
import { klLoss } from './kl.ts';
import { type PerToken, tokenShares } from './reduction.ts';

/** A mask that keeps every token of these sequences. */
const keepAll = (rows: PerToken): Float64Array[] => rows.map((row) => new Float64Array(row.length).fill(1));

const PpoCase = z.object({
  note: z.string(),
  inputs: z.object({ cur: rows, prox: rows, behave: rows, advantages: rows, mask: rows }),
  options: z.object({
    clip_low: z.number(),
    clip_high: z.number(),
    dual_clip: z.number().nullable(),
    staleness_cap: z.number().nullable(),
    reduction: z.enum(['token-mean', 'sample-mean']),
  }),
  loss: z.number(),
  clipped: rows,
  dual_clipped: rows,
  weight: rows,
  gradient_cur: rows,
});
const KlCase = z.object({
  note: z.string(),
  kind: z.enum(['k1', 'k2', 'k3']),
  inputs: z.object({ cur: row, ref: row, mask: row }),
  loss: z.number(),
  gradient_cur: row,
});

const sumOver = (shares: ArrayLike<number>[], values: readonly number[][]) =>
  values.flatMap((value, n) => value.map((one, t) => one * shares[n]![t]!)).reduce((a, b) => a + b, 0);

describe('losses agree with the reference numbers', () => {
  describeLossCases(
    'ppo',
    { group: 'ppo', schema: PpoCase, count: 23 },
    ({ inputs, options, ...expected }) => {
      const shares = tokenShares(inputs.mask, options.reduction === 'token-mean' ? 'token' : 'sample');
      const { loss, gradient, metrics } = binaryLoss(
        { ...inputs, behavior: inputs.behave, shares, unweighted: inputs.cur.map(() => false) },
        {
          clipLow: options.clip_low,
          clipHigh: options.clip_high,
          dualClip: options.dual_clip ?? undefined,
          stalenessCap: options.staleness_cap ?? undefined,
        },
      );
      expectClose(loss, expected.loss);
      expectAllClose(gradient, expected.gradient_cur);
      expectClose(metrics.clipFraction, sumOver(shares, expected.clipped));
      expectClose(metrics.dualClipFraction, sumOver(shares, expected.dual_clipped));
      expectClose(metrics.stalenessWeight, sumOver(shares, expected.weight));
    },
  );

  describeLossCases(
    'kl',
    { group: 'kl', schema: KlCase, count: 21 },
    ({ inputs, kind, loss, gradient_cur }) => {
      const result = klLoss([inputs.cur], [inputs.ref], tokenShares([inputs.mask], 'token'), kind);
      expectClose(result.loss, loss);
      expectAllClose(result.gradient, [gradient_cur]);
    },
  );
});

const clip: ClipSettings = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3, stalenessCap: 2 };
const cur = [
  [-1.03, -0.2, -2.7],
  [-0.6, -1.9],
];
const batch = (changes: Partial<PolicyBatch> = {}): PolicyBatch => ({
  cur,
  prox: [
    [-1.1, -0.8, -2.65],
    [-0.55, -0.4],
  ],
  behavior: [
    [-1.4, -0.9, -2.1],
    [-0.7, -2.9],
  ],
  advantages: [
    [1.4, 1.4, 1.4],
    [-0.7, -0.7],
  ],
  shares: tokenShares(keepAll(cur), 'sample'),
  unweighted: [false, false],
  ...changes,
});
const nudged = (n: number, t: number, by: number) =>
  cur.map((values, i) => values.map((value, j) => (i === n && j === t ? value + by : value)));

test('the gradient is the slope of the loss (finite differences)', () => {
  const { gradient } = binaryLoss(batch(), clip);
  const kl = klLoss(cur, batch().prox, batch().shares, 'k3');
  for (const [n, t] of [
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 0],
    [1, 1],
  ] as const) {
    const slope = (f: (values: number[][]) => number) =>
      (f(nudged(n, t, 1e-6)) - f(nudged(n, t, -1e-6))) / 2e-6;
    expectClose(
      gradient[n]![t]!,
      slope((values) => binaryLoss(batch({ cur: values }), clip).loss),
      1e-8,
    );
    expectClose(
      kl.gradient[n]![t]!,
      slope((values) => klLoss(values, batch().prox, batch().shares, 'k3').loss),
      1e-8,
    );
  }
});

test('if cur equals prox and behavior, the gradient is that of REINFORCE', () => {
  const { gradient, metrics } = binaryLoss(batch({ prox: cur, behavior: cur }), clip);
  expectAllClose(gradient, [
    [-1.4 / 6, -1.4 / 6, -1.4 / 6],
    [0.7 / 4, 0.7 / 4],
  ]);
  expect(metrics).toMatchObject({ ratio: 1, clipFraction: 0, approximateKl: 0 });
  expectClose(metrics.stalenessWeight, 1);
});

test('a greedy answer has staleness weight 1', () => {
  const { metrics } = binaryLoss(batch({ unweighted: [true, true] }), clip);
  expectClose(metrics.stalenessWeight, 1);
  expect(metrics.stalenessCapped).toBe(0);
});

test('a masked token does not affect loss, gradient or metrics', () => {
  const mask = [
    [1, 0, 1],
    [1, 1],
  ];
  const broken = batch({
    cur: [[-1.03, Number.NaN, -2.7], cur[1]!],
    shares: tokenShares(mask, 'sample'),
  });
  const { loss, gradient } = binaryLoss(broken, clip);
  expect(Number.isFinite(loss)).toBe(true);
  expect(gradient[0]![1]).toBe(0);
});

test('the losses of the parts add up to the loss of the batch', () => {
  const whole = binaryLoss(batch(), clip);
  const parts = [0, 1].map((n) => {
    const only = <Row>(values: readonly Row[]) => [values[n]!];
    const { prox, behavior, advantages, shares, unweighted } = batch();
    return binaryLoss(
      {
        cur: only(cur),
        prox: only(prox),
        behavior: only(behavior),
        advantages: only(advantages),
        shares: only(shares),
        unweighted: only(unweighted),
      },
      clip,
    ).loss;
  });
  expectClose(parts[0]! + parts[1]!, whole.loss);
});

test('the baseline starts neutral and follows the verdicts', () => {
  expect(advantageOf(-1, initialBaseline, true)).toBe(-1);
  const after = updateBaseline(initialBaseline, [-1, -1, -1, -1], 0.95);
  expectClose(after.value, -(1 - 0.95 ** 4));
  expect(after.count).toBe(4);
  expectClose(advantageOf(-1, after, true), -(0.95 ** 4));
  expect(advantageOf(0.25, after, false)).toBe(0.25);
  expect(updateBaseline(after, [], 0.95)).toBe(after);
});

test('verdict order in a batch does not matter; one verdict gives the running mean', () => {
  const start = { value: 0.3, count: 7 };
  expectClose(updateBaseline(start, [1, -1, 0.5], 0.9).value, updateBaseline(start, [0.5, 1, -1], 0.9).value);
  expectClose(updateBaseline(start, [1], 0.9).value, 0.9 * 0.3 + 0.1);
});
