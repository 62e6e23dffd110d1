import { SHORT_HINT } from '../../tally.ts';
import { lastBox, withoutThinking } from './parse-answer.ts';

export type ParsedHint = { readonly decision: -1 | 1 | null; readonly hint?: string };

export const HINT_START = '[HINT_START]';
export const HINT_END = '[HINT_END]';

/** Longest hint. Characters. */
const HINT_LIMIT = 1000;

/**
 * The last `\boxed{1}` or `\boxed{-1}` decides; with a 1 comes the last whole hint block, which must not be
 * short, quoted material (its lines begin with a bar) or a box. A 1 without one is null: the judge broke the
 * form.
 */
export function parseHint(output: string): ParsedHint {
  const said = withoutThinking(output);
  const decision = lastBox(said);
  if (decision === -1) return { decision };
  const hint = decision === 1 ? lastBlock(said) : undefined;
  return hint === undefined ? { decision: null } : { decision: 1, hint };
}

function lastBlock(said: string): string | undefined {
  const end = said.lastIndexOf(HINT_END);
  const start = end < 0 ? -1 : said.lastIndexOf(HINT_START, end);
  if (start < 0) return undefined;
  const hint = said
    .slice(start + HINT_START.length, end)
    .trim()
    .slice(0, HINT_LIMIT);
  return hint.length > SHORT_HINT && !/^[^\S\n]*\||\\boxed/m.test(hint) ? hint : undefined;
}
