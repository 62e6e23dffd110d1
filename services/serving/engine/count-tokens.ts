import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';

/** `estimated`: it has more than the budget, and only its beginning was read. */
export type Counted =
  | { readonly kind: 'whole'; readonly ids: readonly number[] }
  | { readonly kind: 'estimated'; readonly tokens: number };

/** Characters that are read first, per token of the budget: above what most text has. */
const FIRST_CHARACTERS = 6;
/** A text that was cut in a word may have so many tokens more than its part of the whole has. */
const CUT_TOKENS = 64;

/**
 * The tokens of a text that may have `budget` of them: tokenising takes a second per megabyte, so a text that
 * does not fit is read no further than to where that is certain. Its number of tokens, above the budget, is
 * then estimated from the beginning.
 */
export function countTokens(encode: Tokenizer['encode'], text: string, budget: number): Counted {
  for (let length = FIRST_CHARACTERS * Math.max(1, budget); length < text.length; length *= 2) {
    const tokens = encode(text.slice(0, length)).length;
    if (tokens > budget + CUT_TOKENS)
      return { kind: 'estimated', tokens: Math.round((tokens / length) * text.length) };
  }
  return { kind: 'whole', ids: encode(text) };
}

export const tokensOf = (counted: Counted): number =>
  counted.kind === 'whole' ? counted.ids.length : counted.tokens;
