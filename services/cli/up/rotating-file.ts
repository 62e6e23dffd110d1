import { appendFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';

export type RotationLimits = {
  /** of each file; a longer line gets a file of its own */
  readonly mostBytes: number;
  /** at least 2, with the file that grows */
  readonly files: number;
};

/**
 * Appends lines to a file. A full file is renamed to `<path>.1`, its predecessor to `<path>.2`, and so on; the oldest is
 * removed. When the disk is full, lines are lost and the process goes on; a line after the gap says how many.
 */
export function appendTo(path: string, limits: RotationLimits): (line: string) => void {
  let bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let lost = 0;
  removeBeyond(path, limits.files);
  return (line) => {
    // the last write may have stored a part of its line, so it starts with a line break
    const text = lost === 0 ? `${line}\n` : `\n${gapLine(lost)}\n${line}\n`;
    const more = Buffer.byteLength(text);
    try {
      if (bytes > 0 && bytes + more > limits.mostBytes) {
        rotate(path, limits.files);
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

/** The new name replaces a file of that name, so the oldest goes. */
function rotate(path: string, files: number): void {
  for (let n = files - 2; n > 0; n -= 1)
    if (statSync(`${path}.${n}`, { throwIfNoEntry: false }) !== undefined)
      renameSync(`${path}.${n}`, `${path}.${n + 1}`);
  renameSync(path, `${path}.1`);
}

/** Files of an earlier start that kept more. */
function removeBeyond(path: string, files: number): void {
  const start = `${basename(path)}.`;
  try {
    for (const name of readdirSync(dirname(path))) {
      const number = name.startsWith(start) ? name.slice(start.length) : '';
      if (/^\d+$/.test(number) && Number(number) >= files) rmSync(`${path}.${number}`);
    }
  } catch {
    // a folder that cannot be read cannot be written either, which the first line notices
  }
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
