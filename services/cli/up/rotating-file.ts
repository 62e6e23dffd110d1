import { appendFileSync, renameSync, statSync } from 'node:fs';

/** bytes, 32 MiB; with its predecessor a log takes twice as much */
const MOST_BYTES = 2 ** 25;

/**
 * Appends lines to a file. A full file is renamed to `<path>.1` and replaces its predecessor. When the disk is
 * full, lines are lost and the process goes on.
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
      // see the docstring
    }
  };
}
