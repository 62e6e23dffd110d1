/** Characters that no reader sees: zero-width ones, soft hyphens, direction marks, variation selectors. */
const invisible =
  '\\u00AD\\u034F\\u061C\\u180E\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u2064\\u2066-\\u206F\\uFE00-\\uFE0F\\uFEFF';

/** `\n`, `\"` and the like as JSON and source text write them, escaped once or a few times over. */
const escapes = `\\\\{1,8}[nrt"']`;
/** Markdown writes `\_` for `_`. */
const markdown = '\\\\[_*~.+#()\\[\\]{}!|<>`-]';
/** a printable character of ASCII, percent-encoded */
const percent = '%[2-7][0-9A-Fa-f]';
/** the same as HTML and JSON write it, and its full-width form */
const encoded =
  '&#(?:3[2-9]|[4-9]\\d|1[01]\\d|12[0-6]);|&#[xX][2-7][0-9A-Fa-f];|\\\\u00[2-7][0-9A-Fa-f]|[\\uFF01-\\uFF5E]';
/** `"ghp_" + "abc"`: two literals that a program joins */
const joined = `["']\\s{0,3}[+.]\\s{0,3}["']`;

const inEveryForm = `[${invisible}]|${joined}|${encoded}|${escapes}|${markdown}`;
const folded = new RegExp(`${inEveryForm}|${percent}`, 'gu');
const foldedButPercent = new RegExp(inEveryForm, 'gu');
const allInvisible = new RegExp(`[${invisible}]`, 'gu');

/** The text without the characters that no reader sees. */
export const withoutInvisible = (text: string): string => text.replace(allInvisible, '');

export type FoldedText = {
  readonly flat: string;
  /** Where a character of `flat` began in the text; for the length of `flat`, the length of the text. */
  readonly positionOf: (index: number) => number;
};

/**
 * The text as a reader of it would copy a secret out: without invisible characters and Markdown's escapes,
 * what is encoded decoded, the escapes of strings as spaces. A password in an address is percent-encoded for
 * good: `keepPercent` leaves that as it is. Linear in the text.
 */
export function foldText(text: string, keepPercent = false): FoldedText {
  let flat = '';
  let reached = 0;
  /** where `flat` and the text part: from `flat[at]` on, a position of the text is `by` larger */
  const shifts: { readonly at: number; readonly by: number }[] = [];
  for (const { 0: found, index } of text.matchAll(keepPercent ? foldedButPercent : folded)) {
    flat += text.slice(reached, index) + shown(found);
    reached = index + found.length;
    if (reached !== flat.length) shifts.push({ at: flat.length, by: reached - flat.length });
  }
  if (reached === 0) return { flat: text, positionOf: (index) => index };
  flat += text.slice(reached);
  return { flat, positionOf: (index) => index + shiftAt(shifts, index) };
}

function shown(found: string): string {
  const code = /^(?:%|\\u00|&#[xX])([2-7][0-9A-Fa-f]);?$/.exec(found)?.[1];
  if (code !== undefined) return printed(Number.parseInt(code, 16));
  if (found.startsWith('&#')) return printed(Number.parseInt(found.slice(2), 10));
  if (/^[\uFF01-\uFF5E]$/.test(found)) return printed(found.charCodeAt(0) - 0xfee0);
  if (/^\\+[nrt"']$/.test(found)) return ' '.repeat(found.length);
  return found.startsWith('\\') ? found.slice(1) : '';
}

const printed = (code: number): string => (code === 0x7f ? ' ' : String.fromCharCode(code));

/** The last shift at or before an index, by halving. */
function shiftAt(shifts: readonly { readonly at: number; readonly by: number }[], index: number): number {
  let [low, high] = [0, shifts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shifts[middle]!.at <= index) low = middle + 1;
    else high = middle;
  }
  return shifts[low - 1]?.by ?? 0;
}
