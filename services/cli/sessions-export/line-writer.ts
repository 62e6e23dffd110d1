import { appendFile, open, rename, rm } from 'node:fs/promises';
import { UsageError } from '../command.ts';

/** Where exported lines go, one session at a time. */
export type LineWriter = {
  readonly write: (lines: readonly object[], session: string) => Promise<void>;
  /** Whether a session was written before this process began. */
  readonly isWritten: (session: string) => Promise<boolean>;
  /** What was written so far is all that there was: the file takes its place. */
  readonly ready: () => Promise<void>;
  /** Without `ready` nothing stands there. */
  readonly close: () => Promise<void>;
};

export const textOf = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/**
 * A file that is there whole or not at all: a neighbour, synced and renamed. What is written after `ready` is
 * appended, the lines of one session at once.
 * @throws UsageError where no file can be made
 */
export async function fileWriter(path: string): Promise<LineWriter> {
  const neighbour = `${path}.${process.pid}.part`;
  const file = await open(neighbour, 'w', 0o600).catch((error: Error) => {
    throw new UsageError(`${path} cannot be written: ${error.message}`);
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
