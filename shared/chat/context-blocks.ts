/** Marks the first line of each block that OpenClaw adds to a channel message. */
const mark = '⟦openclaw:ctx⟧';
/** After this line there are no more words of the person. */
const lastBlock = `Context: ${mark}`;

/**
 * Removes OpenClaw's details about a channel message: author, channel and the message it replies to. A block is a
 * line with the mark, followed by fenced JSON or by lines up to an empty one.
 */
export function withoutContextBlocks(text: string): string {
  if (!text.includes(mark)) return text;
  const lines = text.split('\n');
  const kept: string[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!.trim();
    if (line === lastBlock) break;
    if (line.endsWith(mark) && line !== mark) at = afterBlock(lines, at + 1);
    else kept.push(lines[at++]!);
  }
  return kept.join('\n').trim();
}

function afterBlock(lines: readonly string[], start: number): number {
  const isFenced = lines[start]?.trim() === '```json';
  const end = isFenced ? '```' : '';
  let at = isFenced ? start + 1 : start;
  while (at < lines.length && lines[at]!.trim() !== end) at += 1;
  at += 1;
  while (at < lines.length && lines[at]!.trim() === '') at += 1;
  return at;
}
