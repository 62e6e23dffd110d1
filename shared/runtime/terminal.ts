/**
 * Characters that control a terminal or reorder text: control characters except newline and tab, line separators,
 * and bidirectional marks.
 */
const controls = /[^\P{Cc}\n\t]|[\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Escapes control characters for a terminal. Client text may contain sequences that retitle a window, fake a
 * prompt or fill the clipboard. They are written as in JSON, `\u001b`, so that JSON output stays valid.
 */
export const visible = (text: string): string =>
  text.replace(controls, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Escapes control characters, and puts the text on one line. */
export const visibleLine = (text: string): string => visible(text.replace(/\s+/g, ' '));

type Write = (text: string) => boolean;
const rawWrites = new WeakMap<NodeJS.WriteStream, Write>();

/** Escapes control characters in everything written to the stream from now on. */
export function guardTerminal(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: readonly unknown[]) => boolean;
  rawWrites.set(stream, write);
  stream.write = (chunk: unknown, ...rest: readonly unknown[]) =>
    write(typeof chunk === 'string' ? visible(chunk) : chunk, ...rest);
}

/** Replaces the current line of a terminal. */
export function writeOver(stream: NodeJS.WriteStream, line: string): void {
  const write = rawWrites.get(stream) ?? ((text) => stream.write(text));
  write(`\r\u001b[2K${visible(line)}`);
}
