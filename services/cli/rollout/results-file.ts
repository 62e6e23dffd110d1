import { closeSync, openSync, writeSync } from 'node:fs';
import { UsageError } from '../command.ts';

export type ResultsFile = {
  readonly write: (line: string) => void;
  readonly close: () => void;
};

/** Undefined: nothing is kept. @throws UsageError where the file is there already, or cannot be made */
export function openResults(path: string | undefined): ResultsFile {
  if (path === undefined) return { write: () => {}, close: () => {} };
  try {
    const file = openSync(path, 'wx');
    return {
      write: (line) => void writeSync(file, `${line}\n`),
      close: () => closeSync(file),
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(code === 'EEXIST' ? `${path} is there already` : message);
  }
}
