/** Verdicts on the answers of some versions: how many, and how many of them were bad. */
export type Tally = { readonly turns: number; readonly bad: number };

export const noTurns: Tally = { turns: 0, bad: 0 };

export const addTally = (a: Tally, b: Tally): Tally => ({ turns: a.turns + b.turns, bad: a.bad + b.bad });

/** Share of bad verdicts; 0 without a verdict. */
export const badShare = ({ turns, bad }: Tally): number => (turns === 0 ? 0 : bad / turns);

export type Arms = {
  /** verdicts on the version compared with */
  readonly before: Tally;
  readonly after: Tally;
  /** difference of the two rates that is not yet worse, -1 to 1; below 0 even a lower rate counts, if it is not lower by that */
  readonly margin: number;
};

/**
 * Evidence (an e-value, at least 0) that the rate of bad verdicts is higher after than before by more than the
 * margin. Always valid: if it is not, the chance that the evidence ever reaches 1 / alpha is at most alpha,
 * however often one looks and however the looks depend on the verdicts (Ville's inequality).
 *
 * It is the running likelihood ratio of universal inference (Wasserman, Ramdas, Balakrishnan 2020, PNAS 117(29),
 * section 8): the mean likelihood of two free rates, each with Jeffreys' prior, divided by the largest likelihood
 * under the hypothesis. It depends on the four counts only, so anybody can check it.
 */
export function evidenceOfWorse({ before, after, margin }: Arms): number {
  if (before.turns === 0 || after.turns === 0 || badShare(after) <= badShare(before) + margin) return 0;
  const mean = meanLogLikelihood(before) + meanLogLikelihood(after);
  return Math.exp(mean - largestUnderHypothesis({ before, after, margin }));
}

/**
 * Natural logarithm of the mean likelihood of a tally over Jeffreys' prior: the product of the predictions of
 * Krichevsky and Trofimov (1981), (bad so far + 1/2) / (turns so far + 1). It does not depend on the order.
 */
function meanLogLikelihood({ turns, bad }: Tally): number {
  let sum = 0;
  for (let i = 0; i < bad; i++) sum += Math.log((i + 0.5) / (i + 1));
  for (let i = 0; i < turns - bad; i++) sum += Math.log((i + 0.5) / (bad + i + 1));
  return sum;
}

/** Natural logarithm of the likelihood of a tally at a rate of bad verdicts. */
function logLikelihood({ turns, bad }: Tally, rate: number): number {
  const part = (count: number, chance: number) => (count === 0 ? 0 : count * Math.log(chance));
  return part(bad, rate) + part(turns - bad, 1 - rate);
}

/** Halvings of the interval. */
const STEPS = 50;

/**
 * Largest log-likelihood of rates with after <= before + margin, where the shares are farther apart. It is concave,
 * so its largest value is on the line after = before + margin.
 */
function largestUnderHypothesis({ before, after, margin }: Arms): number {
  const at = (rate: number) => logLikelihood(before, rate) + logLikelihood(after, rate + margin);
  const slope = (rate: number) => slopeOf(before, rate) + slopeOf(after, rate + margin);
  let low = Math.max(badShare(before), -margin);
  let high = Math.min(badShare(after) - margin, 1 - Math.max(0, margin));
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (slope(middle) > 0) low = middle;
    else high = middle;
  }
  return at((low + high) / 2);
}

/** Derivative of the log-likelihood by the rate; a count of 0 has none. */
const slopeOf = ({ turns, bad }: Tally, rate: number): number =>
  (bad === 0 ? 0 : bad / rate) - (turns === bad ? 0 : (turns - bad) / (1 - rate));
