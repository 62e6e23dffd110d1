import { backup, type DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
import { type Topic, topics } from '../../events/define-event.ts';
import { parseEvent } from '../../events/parse-event.ts';
import { unlessAborted } from '../../lang/async.ts';
import type { ChainHead } from '../chain.ts';
import { logError } from '../errors.ts';
import { type LogDatabase, openReadOnly, sqliteFileIn } from './database.ts';
import { openRecords } from './records.ts';
import { openTrims } from './trims.ts';

type CopyOptions = {
  readonly onProgress: (progress: { readonly done: number; readonly total: number }) => void;
  readonly signal: AbortSignal;
};

/** One state of the log in `folder`, however long it is read and whatever is appended meanwhile. */
export type LogSnapshot = {
  readonly logId: string;
  /** bytes of a copy */
  readonly bytes: number;
  /** one per partition of each topic */
  readonly heads: readonly ChainHead[];
  /** The events of these types, in the order of each partition. Records that cannot be parsed are left out. */
  readonly events: (topic: Topic, types: ReadonlySet<string>) => Iterable<ClawLoopEvent>;
  /**
   * Writes the state to a new file and flushes it. Services go on writing to the log.
   * @throws LogRefused when a page of the log is damaged; the signal's reason
   */
  readonly copyTo: (file: string, options: CopyOptions) => Promise<void>;
  /** May be called again. */
  readonly close: () => void;
};

/** Pages of 4 KiB per step; between two steps the signal is checked. */
const PAGES = 1_024;
/** Records per call. */
const RECORDS = 1_000;

/** @throws NewerSchema, LogMismatch, LogRefused, LogUnavailable */
export function openSnapshot(folder: string): LogSnapshot {
  const file = sqliteFileIn(folder);
  const database = openReadOnly(file);
  const { db, logId } = database;
  // Keeps this state until the end. Without it, SQLite begins to copy again after each commit of a service.
  db.exec('BEGIN');
  const { bytes } = db
    .prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()')
    .get() as { readonly bytes: number };
  const records = openRecords(database, openTrims(database));
  const heads = topics.flatMap((topic) =>
    records
      .chains(topic)
      .map(({ from, to, link }, partition) => ({ topic, partition, from, to, head: link })),
  );
  return {
    logId,
    bytes,
    heads,
    events: (topic, types) => eventsOf(database, topic, types),
    copyTo: (target, options) => copyTo(db, file, target, options),
    close: () => void (db.isOpen && db.close()),
  };
}

function* eventsOf(
  database: LogDatabase,
  topic: Topic,
  types: ReadonlySet<string>,
): Generator<ClawLoopEvent> {
  const records = openRecords(database, openTrims(database));
  for (let partition = 0; partition < database.partitions; partition += 1)
    for (let from = 0; ; ) {
      const page = records.skim(topic, partition, from, RECORDS);
      for (const { offset, type } of page) {
        if (!types.has(type)) continue;
        const parsed = parseEvent(records.read(topic, { partition, offset })?.body ?? '');
        if (parsed.kind === 'event') yield parsed.event;
      }
      const last = page.at(-1);
      if (last === undefined) break;
      from = last.offset + 1;
    }
}

async function copyTo(
  db: DatabaseSync,
  file: string,
  target: string,
  { onProgress, signal }: CopyOptions,
): Promise<void> {
  signal.throwIfAborted();
  await backup(db, target, {
    rate: PAGES,
    progress: ({ totalPages, remainingPages }) => {
      signal.throwIfAborted(); // ends the copy
      onProgress({ done: totalPages - remainingPages, total: totalPages });
    },
  });
  const damage = await checkPages(target, signal);
  if (damage !== undefined)
    throw logError(
      'LogRefused',
      `${file} is damaged (${damage}): restore the data folder from an earlier backup, or move it away`,
    );
}

/** The first damage that SQLite finds in a file; undefined: none. In a thread, since it can take minutes. */
async function checkPages(file: string, signal: AbortSignal): Promise<string | undefined> {
  const worker = new Worker(new URL('./check-pages-thread.ts', import.meta.url), { workerData: file });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  worker.once('message', resolve);
  worker.once('error', reject);
  try {
    const answer = await unlessAborted(promise, signal);
    return answer === 'ok' ? undefined : answer;
  } finally {
    await worker.terminate();
  }
}
