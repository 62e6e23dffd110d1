/**
 * What drives a terminal or reorders a line: control characters but newline and tab, line separators, and
 * marks that turn the direction of text.
 */
const driving = /[^\P{Cc}\n\t]|[\u2028-\u202e\u2066-\u2069]/gu;

/**
 * A text as a terminal can show it. Names and messages of clients can hold escapes that retitle a window, fake
 * a prompt or fill the clipboard; such a character is written as JSON writes it, `\u001b`, so that JSON stays
 * the JSON that it was.
 */
export const visible = (text: string): string =>
  text.replace(driving, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The same on one line. */
export const visibleLine = (text: string): string => visible(text.replace(/\s+/g, ' '));

type Write = (text: string) => boolean;
const ownWrites = new WeakMap<NodeJS.WriteStream, Write>();

/** From now on all that a process writes to the stream is visible text. */
export function guardTerminal(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: readonly unknown[]) => boolean;
  ownWrites.set(stream, write);
  stream.write = (chunk: unknown, ...rest: readonly unknown[]) =>
    write(typeof chunk === 'string' ? visible(chunk) : chunk, ...rest);
}

/** Writes over the line on which the cursor of a terminal stands. */
export function writeOver(stream: NodeJS.WriteStream, line: string): void {
  const write = ownWrites.get(stream) ?? ((text) => stream.write(text));
  write(`\r\u001b[2K${visible(line)}`);
}
