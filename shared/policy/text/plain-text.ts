const ZERO_WIDTH_SPACE = '\u200b';
const REPLACEMENT_CHARACTER = '\ufffd';

/**
 * Makes tokens that are written out in a text (`<|im_end|>`) plain text. A zero-width space after their first
 * character keeps a tokenizer from reading them as tokens, so that no message can end itself or open another role. A
 * token of a single character is replaced.
 */
export function plainText(tokens: readonly string[]): (text: string) => string {
  // White space is text, even if a tokenizer lists it as an added token.
  const written = tokens.filter((token) => token.trim() !== '');
  if (written.length === 0) return (text) => text;
  // Longest first, because a token may be the start of another.
  const byLength = [...written].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(
    byLength.map((token) => token.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'),
    'g',
  );
  return (text) => text.replace(pattern, broken);
}

const broken = (token: string): string => {
  const [first = ''] = token; // a whole code point
  const rest = token.slice(first.length);
  return rest === '' ? REPLACEMENT_CHARACTER : `${first}${ZERO_WIDTH_SPACE}${rest}`;
};

/**
 * Applies `plain` to every string in a JSON value, including member names. Returns the value itself if nothing
 * changes.
 */
export function plainValue<Value>(value: Value, plain: (text: string) => string): Value {
  if (typeof value === 'string') return plain(value) as Value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value.map((item) => plainValue<unknown>(item, plain));
    return (items.every((item, at) => item === value[at]) ? value : items) as Value;
  }
  const members = Object.entries(value as object);
  const made = members.map(([name, item]) => [plain(name), plainValue<unknown>(item, plain)] as const);
  const isSame = made.every(([name, item], at) => name === members[at]![0] && item === members[at]![1]);
  return isSame ? value : (Object.fromEntries(made) as Value);
}
