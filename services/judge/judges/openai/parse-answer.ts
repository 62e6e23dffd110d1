const OPEN = '\\boxed{';

/** What a judge says, without its thinking: a block that was opened and never closed was cut off. */
export function withoutThinking(output: string): string {
  const said = output.slice(afterLast(output, '</think>'));
  const opened = said.lastIndexOf('<think>');
  return opened < 0 ? said : said.slice(0, opened);
}

const afterLast = (text: string, mark: string): number => {
  const at = text.lastIndexOf(mark);
  return at < 0 ? 0 : at + mark.length;
};

/** The number in the last `\boxed{...}`; null where there is none, or anything but 1, 0 or -1 in it. */
export function lastBox(said: string): -1 | 0 | 1 | null {
  const at = said.lastIndexOf(OPEN);
  if (at < 0) return null;
  const inside = /^\s*(\+?1|0|[-−]1)\s*\}/.exec(said.slice(at + OPEN.length, at + OPEN.length + 24));
  if (inside === null) return null;
  return inside[1] === '0' ? 0 : /^[-−]/.test(inside[1]!) ? -1 : 1;
}
