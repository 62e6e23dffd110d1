import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type LogSnapshot, openSnapshot } from '../../../shared/log/sqlite/log-snapshot.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import type { Done } from '../../../shared/runtime/progress-bar.ts';
import { digestOfFile, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import type { LogSource } from './log-source.ts';
import type { StoredFile } from './manifest.ts';
import { lineageTypes } from './named-checkpoints.ts';

/** The log's file in a point. */
export const SQLITE_LOG = join('log', 'log.sqlite');

/** The log in the data folder. One read transaction holds its state. */
export function sqliteSource(data: DataFolder): LogSource {
  const first = openSnapshot(data.log);
  const { logId } = first;
  first.close();
  return {
    logId,
    open: async () => {
      const snapshot = openSnapshot(data.log);
      const { bytes, heads } = snapshot;
      return {
        bytes,
        work: 2 * bytes,
        lineage: snapshot.events('training', lineageTypes),
        copyTo: async (staged, reading) => ({ files: [await copyLog(snapshot, staged, reading)], heads }),
        close: snapshot.close, // SQLite may clear its write-ahead log again
      };
    },
    close: async () => {},
  };
}

async function copyLog(
  snapshot: LogSnapshot,
  staged: string,
  { onBytes, signal }: Reading,
): Promise<StoredFile> {
  const target = join(staged, SQLITE_LOG);
  let before = 0;
  const onProgress = ({ done, total }: Done) => {
    const now = Math.round((snapshot.bytes * done) / Math.max(1, total));
    onBytes(now - before);
    before = now;
  };
  await using('write', target, async () => {
    await mkdir(dirname(target), { recursive: true });
    await snapshot.copyTo(target, { onProgress, signal });
  });
  onBytes(snapshot.bytes - before);
  return { path: SQLITE_LOG, ...(await digestOfFile(target, { onBytes, signal })) };
}
