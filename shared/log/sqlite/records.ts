import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Topic } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import type { LogDatabase } from './database.ts';
import type { NewRecord, SkimmedRecord, StoredRecord } from './protocol.ts';

const offsets = 2 ** 40;
/**
 * Characters. A call costs 20 µs however small the body, twice what its row does, and what it saves of a
 * shorter one is less than a page of the file.
 */
const compressAbove = 4096;
/** The lowest level takes 3 µs a KB, the usual one 5, for a fourteenth of the bytes. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Characters of a record that comes with its heading: most facts but answers are shorter. */
const skimmed = 1024;

/**
 * A record as its row will be: a short body as text, a long one as compressed bytes. Packed before the
 * transaction, which is to be short: it locks all other writers out.
 */
export type PackedRecord = NewRecord;

export function pack(record: NewRecord): PackedRecord {
  const { body } = record;
  if (body.length > compressAbove) return { ...record, body: zstdCompressSync(body, compression) };
  return typeof body === 'string' ? record : { ...record, body: Buffer.from(body).toString('utf8') };
}

const unpack = (body: unknown): string =>
  typeof body === 'string' ? body : zstdDecompressSync(body as Uint8Array).toString('utf8');

export type Records = ReturnType<typeof openRecords>;

/** The append-only table. `append` belongs into a transaction; the others need none. */
export function openRecords({ db, partitions, topicIds }: LogDatabase) {
  const insert = db.prepare('INSERT INTO records (k, time, type, subject, body) VALUES (?, ?, ?, ?, ?)');
  const last = db.prepare('SELECT k FROM records WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT 1');
  const range = db.prepare(
    'SELECT k, time, type, subject, body FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?',
  );
  // what type a column has is told without reading it
  const headings = db.prepare(
    `SELECT k, type, subject, CASE WHEN typeof(body) = 'text' AND length(body) <= ${skimmed} THEN body END AS body
     FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?`,
  );
  const one = db.prepare('SELECT k, time, type, subject, body FROM records WHERE k = ?');

  const base = (topic: Topic, partition: number) => (topicIds.get(topic)! * 256 + partition) * offsets;
  const stored = (row: Record<string, unknown>): StoredRecord => ({
    offset: (row.k as number) % offsets,
    time: row.time as number,
    type: row.type as string,
    subject: row.subject as string,
    body: unpack(row.body),
  });
  const end = (topic: Topic, partition: number): number => {
    const from = base(topic, partition);
    const row = last.get(from, from + offsets);
    return row === undefined ? 0 : (row.k as number) - from + 1;
  };

  return {
    append: (records: readonly PackedRecord[]): void => {
      const time = Date.now();
      const next = new Map<number, number>();
      for (const { topic, partition, type, subject, body } of records) {
        const run = base(topic, partition);
        const key = next.get(run) ?? run + end(topic, partition);
        insert.run(key, time, type, subject, body);
        next.set(run, key + 1);
      }
    },
    /** Up to `maxRecords`, and not much more than `maxBytes` of text, but always one if there is one. */
    fetch: (
      topic: Topic,
      partition: number,
      from: number,
      maxRecords: number,
      maxBytes: number,
    ): StoredRecord[] => {
      const start = base(topic, partition);
      const found: StoredRecord[] = [];
      let bytes = 0;
      for (const row of range.iterate(start + from, start + offsets, maxRecords)) {
        const record = stored(row);
        found.push(record);
        bytes += record.body.length;
        if (bytes >= maxBytes) break;
      }
      return found;
    },
    /** Up to `maxRecords`, long ones without their bodies. */
    skim: (topic: Topic, partition: number, from: number, maxRecords: number): SkimmedRecord[] => {
      const start = base(topic, partition);
      return headings.all(start + from, start + offsets, maxRecords).map((row) => ({
        offset: (row.k as number) % offsets,
        type: row.type as string,
        subject: row.subject as string,
        body: row.body as string | null,
      }));
    },
    read: (topic: Topic, { partition, offset }: Position): StoredRecord | null => {
      if (partition >= partitions) return null;
      const row = one.get(base(topic, partition) + offset);
      return row === undefined ? null : stored(row);
    },
    ends: (topic: Topic): number[] =>
      Array.from({ length: partitions }, (_, partition) => end(topic, partition)),
  };
}
