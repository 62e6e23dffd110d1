import { appendFile, open, rename, rm } from 'node:fs/promises';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { writeDurably } from '../../shared/runtime/write-durably.ts';

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

const textOf = (lines: readonly object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/** How lines become the content of a file. */
export type Encoding = {
  /** of the file's name */
  readonly extension: string;
  readonly encode: (lines: readonly object[]) => string | Uint8Array;
};

export const jsonLines: Encoding = { extension: 'jsonl', encode: textOf };

/**
 * Collects all lines and writes them as one file: for formats that cannot be appended to.
 * @throws UsageError when the file cannot be written
 */
export function wholeFileWriter(path: string, encode: Encoding['encode']): LineWriter {
  const all: object[] = [];
  return {
    isWritten: async () => false,
    write: async (lines) => void all.push(...lines),
    ready: () =>
      writeDurably(path, encode(all)).catch((error: Error) => {
        throw new UsageError(`cannot write ${path}: ${error.message}`);
      }),
    close: async () => {},
  };
}

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
