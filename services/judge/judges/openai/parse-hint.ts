import { SHORT_HINT } from '../../tally.ts';
import { lastBox, withoutThinking } from './parse-answer.ts';

type ParsedHint = { readonly decision: -1 | 1 | null; readonly hint?: string };

export const HINT_START = '[HINT_START]';
export const HINT_END = '[HINT_END]';

/** Longest hint. Characters. */
const HINT_LIMIT = 1000;

/**
 * The last `\boxed{1}` or `\boxed{-1}` decides. A 1 needs a complete hint block: the last one, unless it is too
 * short, quotes material (lines that begin with a bar) or contains a box. A 1 without a valid block gives null.
 */
export function parseHint(output: string): ParsedHint {
  const answer = withoutThinking(output);
  const decision = lastBox(answer);
  if (decision === -1) return { decision };
  const hint = decision === 1 ? lastBlock(answer) : undefined;
  return hint === undefined ? { decision: null } : { decision: 1, hint };
}

function lastBlock(answer: string): string | undefined {
  const end = answer.lastIndexOf(HINT_END);
  const start = end < 0 ? -1 : answer.lastIndexOf(HINT_START, end);
  if (start < 0) return undefined;
  const hint = answer
    .slice(start + HINT_START.length, end)
    .trim()
    .slice(0, HINT_LIMIT);
  return hint.length > SHORT_HINT && !/^[^\S\n]*\||\\boxed/m.test(hint) ? hint : undefined;
}
