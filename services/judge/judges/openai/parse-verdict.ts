import type { Vote } from '../../tally.ts';

export type ParsedVerdict = { readonly vote: Vote; readonly hint?: string };

const OPEN = '\\boxed{';
const HINT_LIMIT = 1000;
const SHORT_HINT = 10;

/**
 * The judge's own words only: material holds no verdict form (see fence.ts). The last `\boxed{...}` wins; if
 * it holds anything
 * but 1, 0 or -1, or there is none, the vote is null. Drafts inside a thinking block are no verdict.
 */
export function parseVerdict(output: string): ParsedVerdict {
  const said = withoutThinking(output);
  const vote = lastBox(said);
  const hint = lastHint(said);
  return hint === undefined ? { vote } : { vote, hint };
}

/** A block that was opened and never closed was cut off: nothing was said yet. */
function withoutThinking(output: string): string {
  const said = output.slice(afterLast(output, '</think>'));
  const opened = said.lastIndexOf('<think>');
  return opened < 0 ? said : said.slice(0, opened);
}

const afterLast = (text: string, mark: string): number => {
  const at = text.lastIndexOf(mark);
  return at < 0 ? 0 : at + mark.length;
};

function lastBox(said: string): Vote {
  const at = said.lastIndexOf(OPEN);
  if (at < 0) return null;
  const inside = /^\s*(\+?1|0|[-−]1)\s*\}/.exec(said.slice(at + OPEN.length, at + OPEN.length + 24));
  if (inside === null) return null;
  return inside[1] === '0' ? 0 : inside[1]!.endsWith('1') && /^[-−]/.test(inside[1]!) ? -1 : 1;
}

/** The last line that begins so; quoted material begins with a bar and is none. */
function lastHint(said: string): string | undefined {
  const lines = [...said.matchAll(/^[ \t*]*HINT:[ \t*]*(.+)$/gm)].map(([, hint]) => hint!.trim());
  const hint = lines.at(-1)?.slice(0, HINT_LIMIT);
  return hint !== undefined && hint.length > SHORT_HINT && !/\\boxed|^none\b/i.test(hint) ? hint : undefined;
}
