/**
 * Finds a window cut with few calls of a slow token counter: sizes in characters give a first guess, which a count
 * checks.
 */

export type FewestInput = {
  /** Characters of each item, oldest first. */
  readonly sizes: readonly number[];
  /** Largest number of items to drop. */
  readonly most: number;
  /** Tokens with nothing dropped; more than the budget. */
  readonly tokens: number;
  readonly budget: number;
  /** Tokens with the `drop` oldest dropped; does not grow with `drop`. */
  readonly count: (drop: number) => number;
};

/** characters per message besides its text (role marks, tool calls); only for the first guess */
const overhead = 24;

/** The least number of oldest items to drop so that the others fit; `most` if even that is not enough. */
export function fewestThatFit({ sizes, most, tokens, budget, count }: FewestInput): {
  dropped: number;
  tokens: number;
} {
  const costs = sizes.map((size) => size + overhead);
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const excess = ((tokens - budget) / tokens) * total; // characters, if all text costs the same
  let guess = 0;
  for (let lost = 0; guess < most && lost < excess; guess++) lost += costs[guess]!;

  let tooFew = 0;
  let enough = { dropped: most, tokens: Number.NaN };
  let step = 1;
  while (enough.dropped - tooFew > 1 || Number.isNaN(enough.tokens)) {
    const open = enough.dropped - tooFew > 1;
    const drop = open ? Math.min(Math.max(guess, tooFew + 1), enough.dropped - 1) : enough.dropped;
    const counted = count(drop);
    // Steps double away from the first guess: a good guess needs two or three counts, a bad one log n.
    if (counted <= budget || drop === most) {
      enough = { dropped: drop, tokens: counted };
      guess = drop - step;
    } else {
      tooFew = drop;
      guess = drop + step;
    }
    step *= 2;
  }
  return enough;
}

export type LongestInput = {
  /** Characters of the whole text. */
  readonly size: number;
  /** Tokens of the prompt with the whole text (may be an estimate), and with none of it. */
  readonly tokens: number;
  readonly floorTokens: number;
  readonly allowed: number;
  /** Tokens of the prompt with this many characters of the text. */
  readonly count: (characters: number) => number;
};

/** The search ends when a count is below the limit by at most this share or this many tokens. */
const slackShare = 0.01;
const slackTokens = 8;
/** A count above this multiple of the allowed tokens is a poor estimate for the text that can stay. */
const farAbove = 4;

/** How much of a text can stay, nearly to the token: `size` characters, and the prompt's tokens with them. */
export function longestThatFits({ size, tokens, floorTokens, allowed, count }: LongestInput): {
  size: number;
  tokens: number;
} {
  if (tokens <= allowed) return { size, tokens };
  let fits = { size: 0, tokens: floorTokens };
  let tooLong = { size, tokens };
  const slack = Math.max(slackTokens, slackShare * (allowed - floorTokens));
  for (let tries = 0; tries < 8 && fits.tokens + slack < allowed && tooLong.size - fits.size > 1; tries++) {
    // If the count is far above, the removed text may be of another kind than the text that stays.
    const isFar = fits.size > 0 && tooLong.tokens > farAbove * allowed;
    const perToken = isFar
      ? fits.size / Math.max(1, fits.tokens - floorTokens)
      : (tooLong.size - fits.size) / Math.max(1, tooLong.tokens - fits.tokens);
    const wanted = fits.size + Math.floor((allowed - slack / 2 - fits.tokens) * perToken);
    const tried = Math.min(Math.max(wanted, fits.size + 1), tooLong.size - 1);
    const next = { size: tried, tokens: count(tried) };
    if (next.tokens <= allowed) fits = next;
    else tooLong = next;
  }
  return fits;
}
