import { appendFileSync, renameSync, statSync } from 'node:fs';

/** bytes, 32 MiB: with the one before it a log takes twice as much */
const MOST_BYTES = 2 ** 25;

/**
 * Appends lines to a file. One that is full becomes `<path>.1`, in the place of the one before it. A full disk
 * costs lines, not the process.
 */
export function appendTo(path: string, mostBytes = MOST_BYTES): (line: string) => void {
  let bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return (line) => {
    const text = `${line}\n`;
    const more = Buffer.byteLength(text);
    try {
      if (bytes > 0 && bytes + more > mostBytes) {
        renameSync(path, `${path}.1`);
        bytes = 0;
      }
      appendFileSync(path, text);
      bytes += more;
    } catch {
      // told in the docstring
    }
  };
}
