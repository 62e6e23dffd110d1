import { expect, test } from 'vitest';
import { createRandom } from '../policy/model/random.ts';
import { evidenceOfWorse, type Tally } from './evidence.ts';

const ALPHA = 0.01;

/** Exact probability that the evidence reaches 1 / alpha within `turns` verdicts, and the mean number of verdicts. */
function chanceToFire(
  before: Tally,
  { rate, margin, turns }: { readonly rate: number; readonly margin: number; readonly turns: number },
  alpha = ALPHA,
): { readonly fired: number; readonly meanTurns: number } {
  let open = new Map([[0, 1]]);
  let [fired, meanTurns] = [0, 0];
  for (let n = 1; n <= turns; n++) {
    const next = new Map<number, number>();
    for (const [bad, weight] of open)
      for (const [after, chance] of [
        [bad + 1, weight * rate],
        [bad, weight * (1 - rate)],
      ] as const)
        if (evidenceOfWorse({ before, after: { turns: n, bad: after }, margin }) >= 1 / alpha) {
          fired += chance;
          meanTurns += chance * n;
        } else next.set(after, (next.get(after) ?? 0) + chance);
    open = next;
  }
  return { fired, meanTurns: meanTurns + (1 - fired) * turns };
}

function binomial(turns: number, bad: number, rate: number): number {
  let logChoose = 0;
  for (let i = 1; i <= bad; i++) logChoose += Math.log((turns - bad + i) / i);
  return Math.exp(logChoose) * rate ** bad * (1 - rate) ** (turns - bad);
}

test.each([0.1, 0.5, 0.9])(
  'at equal rates of %d the exact chance of a false alarm within 40 verdicts keeps the bound',
  (rate) => {
    const turns = 12;
    let chance = 0;
    for (let bad = 0; bad <= turns; bad++)
      chance +=
        binomial(turns, bad, rate) * chanceToFire({ turns, bad }, { rate, margin: 0, turns: 40 }, 0.2).fired;
    expect(chance).toBeLessThanOrEqual(0.2);
    expect(chance).toBeGreaterThan(0); // the test does not pass only because nothing ever fires
  },
);

test('with a margin below 0, as for a canary that is not worse, the bound holds as well', () => {
  const turns = 12;
  let chance = 0;
  for (let bad = 0; bad <= turns; bad++)
    chance +=
      binomial(turns, bad, 0.6) *
      chanceToFire({ turns, bad }, { rate: 0.3, margin: -0.3, turns: 40 }, 0.2).fired;
  expect(chance).toBeLessThanOrEqual(0.2);
  expect(chance).toBeGreaterThan(0);
  for (const before of [0, 12])
    for (const bad of [0, 12])
      expect(
        evidenceOfWorse({ before: { turns, bad: before }, after: { turns, bad }, margin: -0.3 }),
      ).not.toBeNaN();
});

test('at the margin itself the bound holds, too', () => {
  const turns = 12;
  let chance = 0;
  for (let bad = 0; bad <= turns; bad++)
    chance +=
      binomial(turns, bad, 0.4) *
      chanceToFire({ turns, bad }, { rate: 0.5, margin: 0.1, turns: 40 }, 0.2).fired;
  expect(chance).toBeLessThanOrEqual(0.2);
});

test('a simulation that looks after every verdict, with a promotion that waits for good verdicts, keeps the bound', () => {
  const random = createRandom('evidence');
  const runs = 2_000;
  let alarms = 0;
  for (let run = 0; run < runs; run++) {
    const before = { turns: 0, bad: 0 };
    // the arms change after two good verdicts in a row: a time that depends on the verdicts
    for (let good = 0; good < 2 || before.turns < 10; before.turns++) {
      const isBad = random() < 0.3;
      good = isBad ? 0 : good + 1;
      before.bad += isBad ? 1 : 0;
    }
    let bad = 0;
    for (let turns = 1; turns <= 40; turns++) {
      bad += random() < 0.3 ? 1 : 0;
      if (evidenceOfWorse({ before, after: { turns, bad }, margin: 0 }) < 20) continue;
      alarms += 1;
      break;
    }
  }
  // alpha is 0.05; two standard errors of the simulation
  expect(alarms / runs).toBeLessThanOrEqual(0.05 + 2 * Math.sqrt((0.05 * 0.95) / runs));
});

test('the growth per verdict is the Kullback-Leibler divergence of the two rates, when the rate before is known', () => {
  const before = { turns: 1_000_000, bad: 300_000 };
  const [p, q] = [0.8, 0.3];
  const divergence = p * Math.log(p / q) + (1 - p) * Math.log((1 - p) / (1 - q));
  const log = (turns: number) =>
    Math.log(evidenceOfWorse({ before, after: { turns, bad: turns * p }, margin: 0 }));
  // the difference of two lengths cancels what the grid costs at the start
  expect((log(400) - log(200)) / 200 / divergence).toBeGreaterThan(0.9);
  expect((log(400) - log(200)) / 200 / divergence).toBeLessThan(1.02);
});

test("the mean number of verdicts is within three times Wald's lower bound", () => {
  // No test with this alpha needs fewer verdicts than log(1 / alpha) / KL, even if it knows both rates (Wald 1945).
  const divergence = 0.9 * Math.log(0.9 / 0.3) + 0.1 * Math.log(0.1 / 0.7);
  const least = Math.log(1 / ALPHA) / divergence;
  const { fired, meanTurns } = chanceToFire({ turns: 40, bad: 12 }, { rate: 0.9, margin: 0, turns: 80 });
  expect(fired).toBeGreaterThan(0.999);
  expect(meanTurns).toBeGreaterThan(least);
  expect(meanTurns).toBeLessThan(3 * least);
});

test('the price of two unknown rates is at most that of Krichevsky and Trofimov, half a logarithm each', () => {
  const likelihood = ({ turns, bad }: Tally, rate: number) =>
    bad * Math.log(rate) + (turns - bad) * Math.log(1 - rate);
  for (const [before, after] of [
    [
      { turns: 40, bad: 12 },
      { turns: 25, bad: 20 },
    ],
    [
      { turns: 500, bad: 5 },
      { turns: 7, bad: 6 },
    ],
  ] as const) {
    const rate = (tally: Tally) => tally.bad / tally.turns;
    const both = { turns: before.turns + after.turns, bad: before.bad + after.bad };
    const ratio =
      likelihood(before, rate(before)) + likelihood(after, rate(after)) - likelihood(both, rate(both));
    const price = 0.5 * Math.log(before.turns) + 0.5 * Math.log(after.turns) + 2 * Math.log(2);
    const evidence = Math.log(evidenceOfWorse({ before, after, margin: 0 }));
    expect(evidence).toBeLessThan(ratio);
    expect(evidence).toBeGreaterThan(ratio - price);
  }
});

test('nothing before, nothing after, or no rise beyond the margin is no evidence', () => {
  const none = { turns: 0, bad: 0 };
  const of = (before: Tally, after: Tally, margin = 0) => evidenceOfWorse({ before, after, margin });
  expect(of(none, { turns: 50, bad: 50 })).toBe(0);
  expect(of({ turns: 50, bad: 25 }, none)).toBe(0);
  expect(of({ turns: 50, bad: 25 }, { turns: 50, bad: 5 })).toBe(0);
  expect(of({ turns: 40, bad: 20 }, { turns: 40, bad: 24 }, 0.1)).toBe(0);
  expect(of({ turns: 40, bad: 0 }, { turns: 40, bad: 40 }, 0.1)).toBeGreaterThan(1e9);
});
