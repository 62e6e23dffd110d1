import { createHash } from 'node:crypto';

/** Encloses foreign text so that it cannot pose as instructions or as a verdict. */
export type Fence = {
  readonly nonce: string;
  /** A named block of material, cut in the middle to `limit` characters. */
  readonly enclose: (name: string, text: string, limit: number) => string;
};

/**
 * The nonce depends only on turn and vote, so each attempt has the same prompt. It need not be secret, because no
 * line of material can be a fence.
 */
export function openFence(turnId: string, index: number): Fence {
  const nonce = createHash('sha256').update(`${turnId}\n${index}`).digest('hex').slice(0, 16);
  return {
    nonce,
    enclose: (name, text, limit) =>
      [`[${nonce} begin ${name}]`, quoted(text, nonce, limit), `[${nonce} end ${name}]`].join('\n'),
  };
}

/** Prefix of each line of material, so that no line can begin with a role, close the fence or state a verdict. */
const MARK = '| ';

function quoted(text: string, nonce: string, limit: number): string {
  const harmless = neutralise(cut(text, limit)).replaceAll(new RegExp(nonce, 'gi'), '(removed)');
  return harmless
    .split('\n')
    .map((line) => MARK + line)
    .join('\n');
}

/** All spellings of a line end that a model may recognise. */
const lineEnds = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
/** Invisible and text-direction characters, which could hide a match from the next rules. */
const unseen = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

const disarm: readonly (readonly [RegExp, string])[] = [
  // <|im_start|>, <|eot_id|>, and the same with the bars that DeepSeek uses
  [/[<＜﹤]\s*[|｜│∣]/g, '‹¦'],
  [/[|｜│∣]\s*[>＞﹥]/g, '¦›'],
  // <s>, </think>, <start_of_turn>, <tool_call>: a tag of any kind
  [/[<＜﹤](?=[/!]?[a-zA-Z_])/g, '‹'],
  // [INST], [/INST], <<SYS>>
  [
    /[[［](?=\s*(?:\/\s*)?(?:INST|SYS\w*|AVAILABLE_TOOLS|TOOL_\w+|HINT_\w+|g?MASK|sop|[BE]_INST|UNK|CLS|SEP)\b)/gi,
    '⟦',
  ],
  [/[<＜]{2,}/g, '‹‹'],
  [/[>＞]{2,}/g, '››'],
  // a verdict in our form
  [/b\s*o\s*x\s*e\s*d\s*[{｛﹛]/gi, 'boxed ('],
];
const backslashes = '\\＼⧵∖﹨';

/** Breaks up every control token, tag and verdict form; words stay readable. */
export function neutralise(text: string): string {
  let harmless = visible(text);
  for (const [pattern, replacement] of disarm) harmless = harmless.replace(pattern, replacement);
  return harmless.split('boxed (').map(withoutBackslashes).join('boxed (');
}

/** Removes the backslashes before a verdict form. A regular expression would need quadratic time here. */
function withoutBackslashes(before: string, index: number, all: readonly string[]): string {
  if (index === all.length - 1) return before;
  let end = before.trimEnd().length;
  if (!backslashes.includes(before[end - 1] ?? ' ')) return before;
  while (backslashes.includes(before[end - 1] ?? ' ')) end -= 1;
  return before.slice(0, end);
}

/** The text without invisible characters and with uniform line ends. */
export const visible = (text: string): string =>
  text
    .replace(lineEnds, '\n')
    .replace(unseen, (character) => (character === '\n' || character === '\t' ? character : ''));

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)}\n(${text.length - 2 * half} characters left out)\n${text.slice(-half)}`;
}
