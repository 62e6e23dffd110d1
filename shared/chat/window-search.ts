/**
 * Searches for the window cut with few calls of a slow token count: sizes in characters tell where to look
 * first, a count says whether it was right.
 */

export type FewestInput = {
  /** Characters of each item, oldest first. */
  readonly sizes: readonly number[];
  /** So many items may be dropped. */
  readonly most: number;
  /** Tokens with none dropped, which is more than the budget. */
  readonly tokens: number;
  readonly budget: number;
  /** Tokens with the `drop` oldest dropped; never more for a larger `drop`. */
  readonly count: (drop: number) => number;
};

/** What a message costs beside its text (role marks, tool calls), characters. Only steers the first guess. */
const overhead = 24;

/** The least number of oldest items to drop so that the rest fits; `most` when not even that is enough. */
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
    // Steps double away from the first guess, so that a good guess needs two or three counts and a bad one
    // log n.
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
  /** Tokens of the prompt with the whole text, which may be an estimate, and with none of it. */
  readonly tokens: number;
  readonly floorTokens: number;
  readonly allowed: number;
  /** Tokens of the prompt with so many characters of the text. */
  readonly count: (characters: number) => number;
};

/** The search ends when a count is below what is allowed by no more than this share, or this many tokens. */
const slackShare = 0.01;
const slackTokens = 8;
/** A count of so many times what is allowed says little of the text that can stay. */
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
    // Far above, the text may be of another kind than what can stay of it.
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
