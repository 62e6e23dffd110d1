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
 * The words in the only wrapper of a message, where it begins or ends with the wrapper and is tagged
 * throughout: inside of another block a wrapper does neither. Any other text as it is.
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
