import type { TokenRecord } from '../../../shared/events/token-record.ts';

/**
 * Choices that a format or a forced call left between several recorded tokens. `nats` / `count` estimates the mean
 * entropy of these choices: each contributes -ln p of the token that was sampled, which is the entropy on average.
 */
export type GuardedChoices = {
  readonly count: number;
  /** sum of -ln p among the allowed tokens, at the temperature of the request */
  readonly nats: number;
  /** the same if all allowed tokens were equally likely: sum of ln(allowed tokens) */
  readonly most: number;
};

export const noGuardedChoices: GuardedChoices = { count: 0, nats: 0, most: 0 };

/** Greedy answers and those with sampling filters do not count: they are drawn from another distribution. */
export function guardedChoicesOf(tokens: TokenRecord | null): GuardedChoices {
  if (tokens?.allowed === undefined || tokens.greedy || isFiltered(tokens)) return noGuardedChoices;
  return tokens.allowed
    .filter(({ ids }) => ids.length > 1)
    .map(({ at, ids }) => ({ count: 1, nats: -tokens.logProbs[at]!, most: Math.log(ids.length) }))
    .reduce(addGuardedChoices, noGuardedChoices);
}

export const addGuardedChoices = (a: GuardedChoices, b: GuardedChoices): GuardedChoices => ({
  count: a.count + b.count,
  nats: a.nats + b.nats,
  most: a.most + b.most,
});

const isFiltered = ({ filters: { topP, topK, minP = 0 } }: TokenRecord): boolean =>
  topP < 1 || topK > 0 || minP > 0;
