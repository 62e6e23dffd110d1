import { closeSync, openSync, writeSync } from 'node:fs';
import { UsageError } from '../../shared/runtime/command-errors.ts';

export type ResultsFile = {
  readonly write: (line: string) => void;
  readonly close: () => void;
};

/**
 * Without a path, results are not kept.
 *
 * @param isResumed continue the results of an earlier part of the rollout
 * @throws UsageError when the file exists or cannot be created
 */
export function openResults(path: string | undefined, isResumed: boolean): ResultsFile {
  if (path === undefined) return { write: () => {}, close: () => {} };
  try {
    const file = openSync(path, isResumed ? 'a' : 'wx');
    return {
      write: (line) => void writeSync(file, `${line}\n`),
      close: () => closeSync(file),
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'EEXIST' ? `${path} already exists; --resume continues a rollout that ended early` : message,
    );
  }
}
