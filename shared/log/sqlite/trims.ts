import type { Topic } from '../../events/define-event.ts';
import { logError } from '../errors.ts';
import { type LogDatabase, maxOffsets as offsets, raiseVersion, trimmedVersion } from './database.ts';
import type { StoredPlace } from './protocol.ts';

/** Rows that one transaction removes: writers wait meanwhile. */
const REMOVED_ROWS = 200;
/** Free pages of 4 KiB that one transaction gives back to the file system. */
const RETURNED_PAGES = 256;

export type Trims = ReturnType<typeof openTrims>;

/**
 * The first kept offset of each partition. A trim moves it in one transaction; no reader sees an earlier record from
 * then on. The rows are removed afterwards, a few at a time.
 */
export function openTrims({ db, partitions, topicIds }: LogDatabase) {
  const runId = (topic: Topic, partition: number) => topicIds.get(topic)! * 256 + partition;
  const statements = prepareStatements(db);
  const startOf = (topic: Topic, partition: number): number =>
    (statements.start.get(runId(topic, partition))?.start as number | undefined) ?? 0;
  const readersOf = (topic: Topic) =>
    statements.readers.all(topicIds.get(topic)!).map(({ grp, partition, position }) => ({
      group: grp as string,
      partition: partition as number,
      position: position as number,
    }));

  return {
    startOf,
    starts: (topic: Topic): number[] =>
      Array.from({ length: partitions }, (_, partition) => startOf(topic, partition)),
    /** The positions of all groups that read the topic. */
    readers: readersOf,
    /** Size and time of records, without their bodies. */
    measure: (topic: Topic, partition: number, from: number, maxRecords: number): StoredPlace[] => {
      const first = runId(topic, partition) * offsets;
      const at = Math.max(from, startOf(topic, partition));
      return statements.sizes.all(first + at, first + offsets, maxRecords).map((row) => ({
        offset: (row.k as number) % offsets,
        time: row.time as number,
        bytes: row.bytes as number,
        isLinked: row.linked === 1,
      }));
    },
    /**
     * Call inside a transaction.
     * @throws LogMismatch when a group has not read these records, or no record would be left
     */
    cut: (topic: Topic, partition: number, to: number): void => {
      const first = runId(topic, partition) * offsets;
      const behind = readersOf(topic).find((one) => one.partition === partition && one.position < to);
      if (behind !== undefined)
        throw logError(
          'LogMismatch',
          `${topic}/${partition} cannot be trimmed to ${to}: ${behind.group} has read up to ${behind.position}`,
        );
      if (statements.after.get(first + to, first + offsets) === undefined)
        throw logError('LogMismatch', `${topic}/${partition} cannot be trimmed to ${to}: no record is there`);
      statements.move.run(runId(topic, partition), to);
      raiseVersion(db, trimmedVersion);
    },
    /** Call inside a transaction. Returns the number of removed rows; 0: none are left. */
    remove: (topic: Topic, partition: number): number => {
      const first = runId(topic, partition) * offsets;
      const end = first + startOf(topic, partition);
      return Number(statements.remove.run(first, end, REMOVED_ROWS).changes);
    },
    /** Call inside a transaction. Returns whether the file may shrink further. */
    shrink: (): boolean => {
      const free = () => Number(db.prepare('PRAGMA freelist_count').get()!.freelist_count);
      const before = free();
      if (before === 0) return false;
      db.exec(`PRAGMA incremental_vacuum(${RETURNED_PAGES})`);
      const after = free();
      return after > 0 && after < before; // a file of an earlier version keeps its free pages for new records
    },
  };
}

function prepareStatements(db: LogDatabase['db']) {
  return {
    start: db.prepare('SELECT start FROM trims WHERE run = ?'),
    move: db.prepare(`INSERT INTO trims (run, start) VALUES (?, ?)
    ON CONFLICT (run) DO UPDATE SET start = max(start, excluded.start)`),
    readers: db.prepare(`SELECT grp, partition, position FROM subscriptions s
    JOIN shares ON subscription = s.id WHERE topic = ? ORDER BY grp, partition`),
    after: db.prepare('SELECT 1 FROM records WHERE k >= ? AND k < ? LIMIT 1'),
    // octet_length() of a column does not read the value.
    sizes: db.prepare(`SELECT k, time, octet_length(body) AS bytes, link IS NOT NULL AS linked FROM records
    WHERE k >= ? AND k < ? ORDER BY k LIMIT ?`),
    remove: db.prepare(`DELETE FROM records WHERE k IN
    (SELECT k FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?)`),
  };
}
