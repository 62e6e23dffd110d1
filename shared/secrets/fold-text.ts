/** Invisible characters: zero-width ones, soft hyphens, direction marks, variation selectors. */
const invisible =
  '\\u00AD\\u034F\\u061C\\u180E\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u2064\\u2066-\\u206F\\uFE00-\\uFE0F\\uFEFF';

/** Escapes such as `\n` and `\"` in JSON and source code, escaped once or several times. */
const escapes = `\\\\{1,8}[nrt"']`;
/** Markdown escapes: `\_` for `_`. */
const markdown = '\\\\[_*~.+#()\\[\\]{}!|<>`-]';
/** a printable character of ASCII, percent-encoded */
const percent = '%[2-7][0-9A-Fa-f]';
/** the same in HTML and JSON, and its full-width form */
const encoded =
  '&#(?:3[2-9]|[4-9]\\d|1[01]\\d|12[0-6]);|&#[xX][2-7][0-9A-Fa-f];|\\\\u00[2-7][0-9A-Fa-f]|[\\uFF01-\\uFF5E]';
/** `"ghp_" + "abc"`: two joined literals */
const joined = `["']\\s{0,3}[+.]\\s{0,3}["']`;

const inEveryForm = `[${invisible}]|${joined}|${encoded}|${escapes}|${markdown}`;
const folded = new RegExp(`${inEveryForm}|${percent}`, 'gu');
const foldedButPercent = new RegExp(inEveryForm, 'gu');
const allInvisible = new RegExp(`[${invisible}]`, 'gu');

/** The text without invisible characters. */
export const withoutInvisible = (text: string): string => text.replace(allInvisible, '');

export type FoldedText = {
  readonly flat: string;
  /** Position in the text of a character of `flat`; for the length of `flat`, the length of the text. */
  readonly positionOf: (index: number) => number;
};

/**
 * The text as a reader would copy a secret from it: without invisible characters and Markdown escapes, with encoded
 * characters decoded and string escapes as spaces. `keepPercent` keeps percent-encoding, which belongs to a password
 * in a URL. Linear in the length.
 */
export function foldText(text: string, keepPercent = false): FoldedText {
  let flat = '';
  let reached = 0;
  /** where positions in `flat` and in the text diverge: from `flat[at]` on, the position in the text is `by` larger */
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
