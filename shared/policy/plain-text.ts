const ZERO_WIDTH_SPACE = '\u200b';

/**
 * Makes special tokens that are written out in somebody's words (`<|im_end|>`) plain text: a zero-width space
 * after their first character keeps a tokenizer from reading them as tokens, so that no message can end its
 * turn or open another role's.
 */
export function plainText(specialTokens: readonly string[]): (text: string) => string {
  const written = specialTokens.filter((token) => token.length > 1);
  if (written.length === 0) return (text) => text;
  // the longest first: one token may begin like another
  const byLength = [...written].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(
    byLength.map((token) => token.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'),
    'g',
  );
  return (text) => text.replace(pattern, (token) => `${token[0]}${ZERO_WIDTH_SPACE}${token.slice(1)}`);
}
