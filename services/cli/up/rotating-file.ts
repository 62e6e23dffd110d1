import { appendFileSync, renameSync, statSync } from 'node:fs';

/** bytes, 32 MiB; with its predecessor a log takes twice as much */
const MOST_BYTES = 2 ** 25;

/**
 * Appends lines to a file. A full file is renamed to `<path>.1` and replaces its predecessor. When the disk is
 * full, lines are lost and the process goes on; a line after the gap says how many.
 */
export function appendTo(path: string, mostBytes = MOST_BYTES): (line: string) => void {
  let bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let lost = 0;
  return (line) => {
    // the last write may have stored a part of its line, so it starts with a line break
    const text = lost === 0 ? `${line}\n` : `\n${gapLine(lost)}\n${line}\n`;
    const more = Buffer.byteLength(text);
    try {
      if (bytes > 0 && bytes + more > mostBytes) {
        renameSync(path, `${path}.1`);
        bytes = 0;
      }
      appendFileSync(path, text);
      bytes += more;
      lost = 0;
    } catch {
      lost += 1; // see the docstring
    }
  };
}

/** In the form of the services' own lines. */
const gapLine = (lines: number): string =>
  JSON.stringify({
    level: 40,
    time: new Date().toISOString(),
    service: 'supervisor',
    lines,
    msg: 'log lines are missing here: they could not be written, as on a full disk',
  });
