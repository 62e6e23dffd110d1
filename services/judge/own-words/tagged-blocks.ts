const opening = /<[a-zA-Z][\w:.-]*(?:\s[^<>]*)?>/g;
const closing = /<\/[a-zA-Z][\w:.-]*\s*>/g;

/** Clients that tag everything put the person's words into one of these. */
const wrappers = [
  'user_query',
  'user_request',
  'userRequest',
  'user_message',
  'user-message',
  'task',
  'feedback',
];

/**
 * The text outside of every tagged block. A client does not escape what it puts into its blocks, so a block
 * may hold the closing tag of any other: all from the first opening tag to the last closing one is dropped,
 * and what follows a tag that is never closed.
 */
export function withoutTaggedBlocks(text: string): string {
  const wrapped = wrappedWords(text);
  return wrapped === undefined ? outside(text) : outside(wrapped);
}

function outside(text: string): string {
  const first = text.search(opening);
  const last = endOfLast(text, closing);
  if (first === -1) return last === -1 ? text : text.slice(last);
  const before = text.slice(0, first);
  if (last <= first) return before;
  const after = text.slice(last);
  const unclosed = after.search(opening);
  return `${before}\n\n${unclosed === -1 ? after : after.slice(0, unclosed)}`;
}

function endOfLast(text: string, tag: RegExp): number {
  let end = -1;
  for (const { index, 0: found } of text.matchAll(tag)) end = index + found.length;
  return end;
}

/**
 * What stands in the only wrapper of the message, which begins or ends with it: inside of another block a
 * wrapper does neither.
 */
function wrappedWords(text: string): string | undefined {
  const whole = text.trim();
  for (const name of wrappers) {
    const [open, close] = [`<${name}>`, `</${name}>`];
    if (!whole.startsWith(open) && !whole.endsWith(close)) continue;
    const [from, to] = [whole.indexOf(open), whole.indexOf(close)];
    const isOnly = from === whole.lastIndexOf(open) && to === whole.lastIndexOf(close);
    if (from === -1 || to < from || !isOnly) continue;
    const rest = outside(`${whole.slice(0, from)}${whole.slice(to + close.length)}`);
    if (rest.trim() === '') return whole.slice(from + open.length, to);
  }
  return undefined;
}
