const OPEN = '\\boxed{';

/** The answer of a judge without its reasoning. An unclosed reasoning block was cut off. */
export function withoutThinking(output: string): string {
  const answer = output.slice(afterLast(output, '</think>'));
  const opened = answer.lastIndexOf('<think>');
  return opened < 0 ? answer : answer.slice(0, opened);
}

const afterLast = (text: string, mark: string): number => {
  const at = text.lastIndexOf(mark);
  return at < 0 ? 0 : at + mark.length;
};

/** The number in the last `\boxed{...}`; null without a box, or if it contains anything but 1, 0 or -1. */
export function lastBox(answer: string): -1 | 0 | 1 | null {
  const at = answer.lastIndexOf(OPEN);
  if (at < 0) return null;
  const inside = /^\s*(\+?1|0|[-−]1)\s*\}/.exec(answer.slice(at + OPEN.length, at + OPEN.length + 24));
  if (inside === null) return null;
  return inside[1] === '0' ? 0 : /^[-−]/.test(inside[1]!) ? -1 : 1;
}
