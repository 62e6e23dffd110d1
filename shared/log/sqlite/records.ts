import { type Topic, topics } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import { openLink } from '../chain.ts';
import type { LostRecords } from '../following.ts';
import { isDamage, type LogDatabase, maxOffsets as offsets } from './database.ts';
import { bodyOf, type PackedRecord } from './packing.ts';
import type {
  Selected,
  Selection,
  SkimmedRecord,
  StoredChain,
  StoredLink,
  StoredRecord,
} from './protocol.ts';
import type { Trims } from './trims.ts';

/** Records per call that are read one at a time after damage. */
const maxSingleReads = 100;
/** Limits of one selection, which block the thread: records that it looks at, and those that it takes. */
const SCANNED_RECORDS = 20_000;
const SELECTED_RECORDS = 500;
/** characters of bodies */
const SELECTED_BYTES = 4 * 2 ** 20;
/** Longest body, in characters, that `skim` returns: most facts except answers are shorter. */
const skimmed = 1024;

/** The first free offset of a partition. */
type PartitionEnd = { readonly topic: Topic; readonly partition: number; readonly end: number };

export type Records = ReturnType<typeof openRecords>;

/** The append-only table. Call `append` in a transaction, between `begin` and `seal`; the other calls need none. */
export function openRecords({ db, partitions, topicIds }: LogDatabase, trims: Pick<Trims, 'startOf'>) {
  const statements = prepareStatements(db);
  const runId = (topic: Topic, partition: number) => topicIds.get(topic)! * 256 + partition;
  const startOf = (topic: Topic, partition: number) => runId(topic, partition) * offsets;
  const endOf = (topic: Topic, partition: number): number => {
    const start = startOf(topic, partition);
    const row = statements.last.get(start, start + offsets);
    return row === undefined ? 0 : (row.k as number) - start + 1;
  };

  return {
    ...openAppends(statements, runId),
    ...openReads(statements, startOf, trims),
    /** Records as they are stored, with their links: for verifying the chain. */
    fetchStored: (topic: Topic, partition: number, from: number, maxRecords: number): StoredLink[] => {
      const start = startOf(topic, partition);
      const first = start + Math.max(from, trims.startOf(topic, partition));
      return statements.linked.all(first, start + offsets, maxRecords).map((row) => ({
        offset: (row.k as number) % offsets,
        time: row.time as number,
        type: row.type as string,
        subject: row.subject as string,
        body: row.body as string | Uint8Array,
        link: row.link as string | null,
      }));
    },
    /** The range and last link of each partition's chain, as of the last append. */
    chains: (topic: Topic): StoredChain[] =>
      Array.from({ length: partitions }, (_, partition) => {
        const { next, since, link } = statements.runOf.get(runId(topic, partition))!;
        return { from: since as number, to: next as number, link: link as string };
      }),
    /** Records at the end of a partition that were appended and no longer exist. */
    lostTails: (): LostRecords[] =>
      topics.flatMap((topic) =>
        Array.from({ length: partitions }, (_, partition): LostRecords[] => {
          const to = statements.runOf.get(runId(topic, partition))!.next as number;
          const from = endOf(topic, partition);
          return from < to ? [{ topic, partition, from, to }] : [];
        }).flat(),
      ),
    read: (topic: Topic, { partition, offset }: Position): StoredRecord | null => {
      if (partition >= partitions || offset < trims.startOf(topic, partition)) return null;
      return readOne(statements, startOf(topic, partition) + offset) ?? null;
    },
    ends: (topic: Topic): number[] =>
      Array.from({ length: partitions }, (_, partition) => endOf(topic, partition)),
  };
}

type Statements = ReturnType<typeof prepareStatements>;

/** The records that the open transaction appends. */
function openAppends(
  { runOf, insert, advance }: Statements,
  runId: (topic: Topic, partition: number) => number,
) {
  /** Records to append: each run gets one link per transaction. */
  let pending: PackedRecord[] = [];
  let moved: PartitionEnd[] = [];

  /** In append order. */
  const byRun = (records: readonly PackedRecord[]): ReadonlyMap<number, PackedRecord[]> => {
    const runs = new Map<number, PackedRecord[]>();
    for (const record of records) {
      const run = runId(record.topic, record.partition);
      const recordsOfRun = runs.get(run);
      if (recordsOfRun === undefined) runs.set(run, [record]);
      else recordsOfRun.push(record);
    }
    return runs;
  };

  return {
    /** Forgets the records of a transaction that was rolled back. */
    begin: (): void => {
      pending = [];
      moved = [];
    },
    append: (records: readonly PackedRecord[]): void => {
      pending.push(...records);
    },
    seal: (): void => {
      const time = Date.now();
      for (const [run, records] of byRun(pending)) {
        const { next, link: before } = runOf.get(run) as { readonly next: number; readonly link: string };
        const link = openLink(before);
        for (const [index, record] of records.entries()) link.add(next + index, time, record);
        const after = link.end();
        const last = records.length - 1;
        for (const [index, { type, subject, body }] of records.entries())
          insert.run(run * offsets + next + index, time, type, subject, body, index === last ? after : null);
        advance.run(next + records.length, after, run);
        const { topic, partition } = records[last]!;
        moved.push({ topic, partition, end: next + records.length });
      }
    },
    /** Ends that the last transaction moved: querying the table for them would cost as much as a short append. */
    moved: (): readonly PartitionEnd[] => moved,
  };
}

type FetchLimits = { readonly maxRecords: number; readonly maxBytes: number };

function openReads(
  statements: Statements,
  startOf: (topic: Topic, partition: number) => number,
  trims: Pick<Trims, 'startOf'>,
) {
  /** Trimmed records are not read, although their rows may still be there. */
  const kept = (topic: Topic, partition: number, from: number): number =>
    Math.max(from, trims.startOf(topic, partition));
  /** Reading a range fails if a page of it is damaged: then read each record separately. */
  const orOneByOne = <Found>(
    readRange: () => Found[],
    {
      start,
      from,
      maxRecords,
    }: { readonly start: number; readonly from: number; readonly maxRecords: number },
    as: (record: StoredRecord) => Found,
  ): Found[] => {
    try {
      return readRange();
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    const results: Found[] = [];
    const limit = Math.min(maxRecords, maxSingleReads);
    const row = statements.last.get(start, start + offsets);
    const end = row === undefined ? start : (row.k as number) + 1;
    for (let key = start + from; key < end && results.length < limit; key += 1) {
      const record = readOne(statements, key);
      if (record !== undefined) results.push(as(record));
    }
    return results;
  };

  return {
    /** Up to `maxRecords`, and not much more than `maxBytes` of text, but at least one record if there is any. */
    fetch: (
      topic: Topic,
      partition: number,
      after: number,
      { maxRecords, maxBytes }: FetchLimits,
    ): StoredRecord[] => {
      const start = startOf(topic, partition);
      const from = kept(topic, partition, after);
      const readRange = () => {
        const records: StoredRecord[] = [];
        let bytes = 0;
        for (const row of statements.range.iterate(start + from, start + offsets, maxRecords)) {
          const record = stored(row);
          records.push(record);
          bytes += record.body.length;
          if (bytes >= maxBytes) break;
        }
        return records;
      };
      return orOneByOne(readRange, { start, from, maxRecords }, (record) => record);
    },
    /** Up to `maxRecords`, long ones without their bodies. */
    skim: (topic: Topic, partition: number, after: number, maxRecords: number): SkimmedRecord[] => {
      const start = startOf(topic, partition);
      const from = kept(topic, partition, after);
      const readRange = () =>
        statements.headings.all(start + from, start + offsets, maxRecords).map((row) => ({
          offset: (row.k as number) % offsets,
          time: row.time as number,
          type: row.type as string,
          subject: row.subject as string,
          body: row.body as string | null,
        }));
      return orOneByOne(readRange, { start, from, maxRecords }, (record) => record);
    },
    /** A damaged record has no type, and is selected. */
    select: ({ topic, partition, from: after, to: end, types }: Selection): Selected => {
      const start = startOf(topic, partition);
      const from = kept(topic, partition, after);
      const to = Math.min(end, from + SCANNED_RECORDS);
      let next = to;
      const readRange = () => {
        const records: StoredRecord[] = [];
        let bytes = 0;
        for (const row of statements.ofTypes.iterate(start + from, start + to, JSON.stringify(types))) {
          const record = stored(row);
          records.push(record);
          bytes += record.body.length;
          if (bytes < SELECTED_BYTES && records.length < SELECTED_RECORDS) continue;
          next = record.offset + 1;
          break;
        }
        return records;
      };
      const nextOf = (record: StoredRecord): StoredRecord => {
        next = record.offset + 1;
        return record;
      };
      const records = orOneByOne(readRange, { start, from, maxRecords: to - from }, nextOf);
      return { records: records.filter(({ type }) => type === '' || types.includes(type)), next };
    },
  };
}

/** Undefined: no such record. Nothing is known of a record on a damaged page, except that it is damaged. */
function readOne({ single }: Statements, key: number): StoredRecord | undefined {
  try {
    const row = single.get(key);
    return row === undefined ? undefined : stored(row);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const damage = `cannot be read: ${error.message}`;
    return { offset: key % offsets, time: 0, type: '', subject: '', body: '', damage };
  }
}

const stored = (row: Record<string, unknown>): StoredRecord => ({
  offset: (row.k as number) % offsets,
  time: row.time as number,
  type: row.type as string,
  subject: row.subject as string,
  ...bodyOf(row.body),
});

function prepareStatements(db: LogDatabase['db']) {
  return {
    insert: db.prepare('INSERT INTO records (k, time, type, subject, body, link) VALUES (?, ?, ?, ?, ?, ?)'),
    runOf: db.prepare('SELECT next, since, link FROM runs WHERE run = ?'),
    advance: db.prepare('UPDATE runs SET next = ?, link = ? WHERE run = ?'),
    last: db.prepare('SELECT k FROM records WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT 1'),
    range: db.prepare(
      'SELECT k, time, type, subject, body FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?',
    ),
    // typeof() of a column does not read the value.
    headings: db.prepare(
      `SELECT k, time, type, subject, CASE WHEN typeof(body) = 'text' AND length(body) <= ${skimmed} THEN body END AS body
     FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?`,
    ),
    ofTypes: db.prepare(
      `SELECT k, time, type, subject, body FROM records
     WHERE k >= ? AND k < ? AND type IN (SELECT value FROM json_each(?)) ORDER BY k`,
    ),
    single: db.prepare('SELECT k, time, type, subject, body FROM records WHERE k = ?'),
    linked: db.prepare(
      'SELECT k, time, type, subject, body, link FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?',
    ),
  };
}
