import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { NewRecord, RecordColumns, StoredRecord } from './protocol.ts';

/**
 * Characters. Compressing costs at least 20 µs, twice as much as writing the row, and saves less than a page of
 * the file for a shorter body.
 */
const compressAbove = 4096;
/** Level 1 takes 3 µs per KB; the default level takes 5, and saves only a fourteenth more. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/**
 * A record ready for its row: a short body as text, a long body as compressed bytes. Packed before the
 * transaction, to keep it short: a transaction blocks all other writers.
 */
export type PackedRecord = NewRecord;

export function pack({ topic, partition, type, subject, body }: RecordColumns): readonly PackedRecord[] {
  return topic.map((name, index) => ({
    topic: name,
    partition: partition[index]!,
    type: type[index]!,
    subject: subject[index]!,
    body: packedBody(body[index]!),
  }));
}

/** A body as its row holds it. */
export function packedBody(body: NewRecord['body']): NewRecord['body'] {
  if (body.length > compressAbove) return zstdCompressSync(body, compression);
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}

/** The text of a stored body. */
export function bodyOf(body: unknown): Pick<StoredRecord, 'body' | 'damage'> {
  if (typeof body === 'string') return { body };
  try {
    return { body: zstdDecompressSync(body as Uint8Array).toString('utf8') };
  } catch (error) {
    return { body: '', damage: `cannot be unpacked: ${(error as Error).message}` };
  }
}
