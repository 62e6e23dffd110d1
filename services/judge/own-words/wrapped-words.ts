/** Tags that some clients put around the person's words. */
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
 * The words in the wrapper of a message. The message must begin or end with its only wrapper and be tagged
 * throughout; a wrapper within another block does not count. Any other text is returned unchanged.
 */
export function unwrapped(text: string): string {
  const whole = text.trim();
  for (const name of wrappers) {
    const [open, close] = [`<${name}>`, `</${name}>`];
    if (!whole.startsWith(open) && !whole.endsWith(close)) continue;
    const [from, to] = [whole.indexOf(open), whole.indexOf(close)];
    const isOnly = from === whole.lastIndexOf(open) && to === whole.lastIndexOf(close);
    if (from === -1 || to < from || !isOnly) continue;
    const others = `${whole.slice(0, from)}${whole.slice(to + close.length)}`.trim();
    if (others === '' || /^<[a-zA-Z][^<>]*>[\s\S]*<\/[a-zA-Z][^<>]*>$/.test(others))
      return whole.slice(from + open.length, to);
  }
  return text;
}
