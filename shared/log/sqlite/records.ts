import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type Topic, topics } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import { openLink } from '../chain.ts';
import type { LostRecords } from '../following.ts';
import { isDamage, type LogDatabase, maxOffsets as offsets } from './database.ts';
import type {
  NewRecord,
  RecordColumns,
  SkimmedRecord,
  StoredChain,
  StoredLink,
  StoredRecord,
} from './protocol.ts';

/**
 * Characters. A call costs 20 µs however small the body, twice what its row does, and what it saves of a
 * shorter one is less than a page of the file.
 */
const compressAbove = 4096;
/** The lowest level takes 3 µs a KB, the usual one 5, for a fourteenth of the bytes. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Records that are asked for by themselves in one call. */
const fewer = (maxRecords: number): number => Math.min(maxRecords, 100);
/** Characters of a record that comes with its heading: most facts but answers are shorter. */
const skimmed = 1024;

/**
 * A record as its row will be: a short body as text, a long one as compressed bytes. Packed before the
 * transaction, which is to be short: it locks all other writers out.
 */
export type PackedRecord = NewRecord;

export function pack({ topic, partition, type, subject, body }: RecordColumns): readonly PackedRecord[] {
  return topic.map((name, index) => ({
    topic: name,
    partition: partition[index]!,
    type: type[index]!,
    subject: subject[index]!,
    body: packed(body[index]!),
  }));
}

function packed(body: NewRecord['body']): NewRecord['body'] {
  if (body.length > compressAbove) return zstdCompressSync(body, compression);
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}

function bodyOf(body: unknown): Pick<StoredRecord, 'body' | 'damage'> {
  if (typeof body === 'string') return { body };
  try {
    return { body: zstdDecompressSync(body as Uint8Array).toString('utf8') };
  } catch (error) {
    return { body: '', damage: `cannot be unpacked: ${(error as Error).message}` };
  }
}

/** The first free offset of a partition. */
type PartitionEnd = { readonly topic: Topic; readonly partition: number; readonly end: number };

export type Records = ReturnType<typeof openRecords>;

/**
 * The append-only table. `append` belongs into a transaction, which `begin` and `seal` begin and
 * end; the others need none.
 */
export function openRecords({ db, partitions, topicIds }: LogDatabase) {
  /** What the transaction appends: each run gets one link, however many append to it. */
  let pending: PackedRecord[] = [];
  /** Ends of the partitions that the transaction appended to. */
  let moved: PartitionEnd[] = [];
  const insert = db.prepare(
    'INSERT INTO records (k, time, type, subject, body, link) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const runOf = db.prepare('SELECT next, since, link FROM runs WHERE run = ?');
  const advance = db.prepare('UPDATE runs SET next = ?, link = ? WHERE run = ?');
  const last = db.prepare('SELECT k FROM records WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT 1');
  const range = db.prepare(
    'SELECT k, time, type, subject, body FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?',
  );
  // what type a column has is told without reading it
  const headings = db.prepare(
    `SELECT k, time, type, subject, CASE WHEN typeof(body) = 'text' AND length(body) <= ${skimmed} THEN body END AS body
     FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?`,
  );
  const one = db.prepare('SELECT k, time, type, subject, body FROM records WHERE k = ?');

  const linked = db.prepare(
    'SELECT k, time, type, subject, body, link FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?',
  );

  const runId = (topic: Topic, partition: number) => topicIds.get(topic)! * 256 + partition;
  const base = (topic: Topic, partition: number) => runId(topic, partition) * offsets;
  /** In the order in which they came. */
  const byRun = (records: readonly PackedRecord[]): ReadonlyMap<number, PackedRecord[]> => {
    const runs = new Map<number, PackedRecord[]>();
    for (const record of records) {
      const run = runId(record.topic, record.partition);
      const of = runs.get(run);
      if (of === undefined) runs.set(run, [record]);
      else of.push(record);
    }
    return runs;
  };
  const stored = (row: Record<string, unknown>): StoredRecord => ({
    offset: (row.k as number) % offsets,
    time: row.time as number,
    type: row.type as string,
    subject: row.subject as string,
    ...bodyOf(row.body),
  });
  /** Undefined: there is no such record. A page that is damaged holds a record of which nothing is known. */
  const readOne = (key: number): StoredRecord | undefined => {
    try {
      const row = one.get(key);
      return row === undefined ? undefined : stored(row);
    } catch (error) {
      if (!isDamage(error)) throw error;
      const damage = `cannot be read: ${error.message}`;
      return { offset: key % offsets, time: 0, type: '', subject: '', body: '', damage };
    }
  };
  /** A run of records ends where a page is damaged: from there on each record is asked for by itself. */
  const orOneByOne = <Found>(
    read: () => Found[],
    {
      start,
      from,
      maxRecords,
    }: { readonly start: number; readonly from: number; readonly maxRecords: number },
    as: (record: StoredRecord) => Found,
  ): Found[] => {
    try {
      return read();
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    const found: Found[] = [];
    const row = last.get(start, start + offsets);
    const end = row === undefined ? start : (row.k as number) + 1;
    for (let key = start + from; key < end && found.length < maxRecords; key += 1) {
      const record = readOne(key);
      if (record !== undefined) found.push(as(record));
    }
    return found;
  };
  const end = (topic: Topic, partition: number): number => {
    const from = base(topic, partition);
    const row = last.get(from, from + offsets);
    return row === undefined ? 0 : (row.k as number) - from + 1;
  };

  return {
    /** What a transaction that was undone has left is forgotten. */
    begin: (): void => {
      pending = [];
      moved = [];
    },
    append: (records: readonly PackedRecord[]): void => {
      pending.push(...records);
    },
    seal: (): void => {
      const time = Date.now();
      for (const [run, of] of byRun(pending)) {
        const { next, link: before } = runOf.get(run) as { readonly next: number; readonly link: string };
        const link = openLink(before);
        for (const [index, record] of of.entries()) link.add(next + index, time, record);
        const after = link.end();
        const last = of.length - 1;
        for (const [index, { type, subject, body }] of of.entries())
          insert.run(run * offsets + next + index, time, type, subject, body, index === last ? after : null);
        advance.run(next + of.length, after, run);
        const { topic, partition } = of[last]!;
        moved.push({ topic, partition, end: next + of.length });
      }
    },
    /** What the last transaction moved: asking the table for it again would cost as much as a short append. */
    moved: (): readonly PartitionEnd[] => moved,
    /** Records as they are stored, with their links: what verifies the chain reads them. */
    fetchStored: (topic: Topic, partition: number, from: number, maxRecords: number): StoredLink[] => {
      const start = base(topic, partition);
      return linked.all(start + from, start + offsets, maxRecords).map((row) => ({
        offset: (row.k as number) % offsets,
        time: row.time as number,
        type: row.type as string,
        subject: row.subject as string,
        body: row.body as string | Uint8Array,
        link: row.link as string | null,
      }));
    },
    /** What the chain of each partition covers, as it was left by the last append. */
    chains: (topic: Topic): StoredChain[] =>
      Array.from({ length: partitions }, (_, partition) => {
        const { next, since, link } = runOf.get(runId(topic, partition))!;
        return { from: since as number, to: next as number, link: link as string };
      }),
    /** The records that were appended last and are not there any more. */
    lostTails: (): LostRecords[] =>
      topics.flatMap((topic) =>
        Array.from({ length: partitions }, (_, partition): LostRecords[] => {
          const to = runOf.get(runId(topic, partition))!.next as number;
          const from = end(topic, partition);
          return from < to ? [{ topic, partition, from, to }] : [];
        }).flat(),
      ),
    /** Up to `maxRecords`, and not much more than `maxBytes` of text, but always one if there is one. */
    fetch: (
      topic: Topic,
      partition: number,
      from: number,
      maxRecords: number,
      maxBytes: number,
    ): StoredRecord[] => {
      const start = base(topic, partition);
      const readRun = () => {
        const found: StoredRecord[] = [];
        let bytes = 0;
        for (const row of range.iterate(start + from, start + offsets, maxRecords)) {
          const record = stored(row);
          found.push(record);
          bytes += record.body.length;
          if (bytes >= maxBytes) break;
        }
        return found;
      };
      return orOneByOne(readRun, { start, from, maxRecords: fewer(maxRecords) }, (record) => record);
    },
    /** Up to `maxRecords`, long ones without their bodies. */
    skim: (topic: Topic, partition: number, from: number, maxRecords: number): SkimmedRecord[] => {
      const start = base(topic, partition);
      const readRun = () =>
        headings.all(start + from, start + offsets, maxRecords).map((row) => ({
          offset: (row.k as number) % offsets,
          time: row.time as number,
          type: row.type as string,
          subject: row.subject as string,
          body: row.body as string | null,
        }));
      return orOneByOne(readRun, { start, from, maxRecords: fewer(maxRecords) }, (record) => record);
    },
    read: (topic: Topic, { partition, offset }: Position): StoredRecord | null => {
      if (partition >= partitions) return null;
      return readOne(base(topic, partition) + offset) ?? null;
    },
    ends: (topic: Topic): number[] =>
      Array.from({ length: partitions }, (_, partition) => end(topic, partition)),
  };
}
