import { appendFile, open, rename, rm } from 'node:fs/promises';
import { UsageError } from '../../shared/runtime/command-errors.ts';

/** Target of exported lines, one session at a time. */
export type LineWriter = {
  readonly write: (lines: readonly object[], session: string) => Promise<void>;
  /** Whether an earlier process has written the session. */
  readonly isWritten: (session: string) => Promise<boolean>;
  /** All existing sessions are written: publish the file. */
  readonly ready: () => Promise<void>;
  /** Without `ready` before it, no file remains. */
  readonly close: () => Promise<void>;
};

export const textOf = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/**
 * Writes a file atomically: into a neighbour that is synced and renamed. After `ready`, sessions are appended,
 * each in one write.
 * @throws UsageError when the file cannot be created
 */
export async function fileWriter(path: string): Promise<LineWriter> {
  const neighbour = `${path}.${process.pid}.part`;
  const file = await open(neighbour, 'w', 0o600).catch((error: Error) => {
    throw new UsageError(`cannot write ${path}: ${error.message}`);
  });
  let isReady = false;
  return {
    isWritten: async () => false,
    write: async (lines) => {
      if (isReady) await appendFile(path, textOf(lines), { flush: true });
      else await file.writeFile(textOf(lines));
    },
    ready: async () => {
      await file.sync();
      await file.close();
      await rename(neighbour, path);
      isReady = true;
    },
    close: async () => {
      if (isReady) return;
      await file.close();
      await rm(neighbour, { force: true });
    },
  };
}

export const outputWriter: LineWriter = {
  isWritten: async () => false,
  write: async (lines) => {
    const text = textOf(lines);
    if (text !== '' && !process.stdout.write(text))
      await new Promise((resolve) => process.stdout.once('drain', resolve));
  },
  ready: async () => {},
  close: async () => {},
};
