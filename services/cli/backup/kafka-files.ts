import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { topics } from '../../../shared/events/define-event.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import type { StoredRecord } from '../../../shared/log/kafka/fill-partition.ts';
import type { StoredRow } from '../../../shared/log/kafka/follow-rows.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';

/*
 * A log of Kafka in a point, below `log`:
 *   kafka.json                     partitions, groups, and the range of each partition
 *   TOPIC-PARTITION/OFFSET.jsonl.zst   records of RECORDS_PER_FILE offsets from this one on, a JSON object per line
 *   rows/GROUP-PARTITION.jsonl     rows of a group, [key, value] per line; the last value of a key counts
 */

/** Describes the log of a point. */
export const KAFKA_LOG = join('log', 'kafka.json');

/** Files of two points that hold the same offsets are equal, so a bucket stores them once. */
const RECORDS_PER_FILE = 2 ** 14;

const offset = z.int().min(0);
const kafkaLog = z.object({
  format: z.literal(1),
  logId: z.string(),
  partitions: z.int().min(1),
  groups: z.array(
    z.object({
      group: z.string(),
      topic: z.enum(topics).nullable().describe('that the group reads; null: unknown'),
    }),
  ),
  ranges: z.array(
    z.object({
      topic: z.enum(topics),
      partition: offset,
      start: offset,
      end: offset,
      link: z.string().describe('of the chain before the first record'),
    }),
  ),
});
export type KafkaLog = z.output<typeof kafkaLog>;
export type StoredRange = KafkaLog['ranges'][number];

/** @throws Refusal when it is of a newer version */
export async function readKafkaLog(folder: string): Promise<KafkaLog> {
  const path = join(folder, KAFKA_LOG);
  const parsed = kafkaLog.safeParse(parseJson(await readFile(path, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new Refusal(`${path} is not of this version of ClawLoop: ${z.prettifyError(parsed.error)}`);
}

type OfPartition = { readonly topic: string; readonly partition: number };

/** The number of the file that has an offset. */
export const fileNumber = (at: number): number => Math.floor(at / RECORDS_PER_FILE);

/** Paths below a point. The names of the files of a partition are in the order of its offsets. */
export const recordsFolder = ({ topic, partition }: OfPartition): string =>
  join('log', `${topic}-${partition}`);
export const pathOfRecords = (of: OfPartition, number: number): string =>
  join(recordsFolder(of), `${String(number * RECORDS_PER_FILE).padStart(15, '0')}.jsonl.zst`);
export const pathOfRows = (group: string, partition: number): string =>
  join('log', 'rows', `${group}-${partition}.jsonl`);

/** Bytes that are no text are stored as `{ base64 }`. */
const storedBytes = (bytes: Buffer | null) => {
  if (bytes === null) return null;
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
};
type StoredBytes = ReturnType<typeof storedBytes>;

const bytesOfStored = (stored: StoredBytes): Buffer | null => {
  if (stored === null) return null;
  return typeof stored === 'string' ? Buffer.from(stored) : Buffer.from(stored.base64, 'base64');
};

type RecordLine = {
  readonly offset: number;
  readonly time: number;
  readonly key: StoredBytes;
  readonly headers: readonly (readonly [name: string, value: StoredBytes])[];
  readonly value: StoredBytes;
};

export function lineOfRecord({ offset, time, key, headers, value }: StoredRecord): string {
  const line: RecordLine = {
    offset,
    time,
    key: storedBytes(key),
    headers: headers.map(([name, bytes]) => [name, storedBytes(bytes)]),
    value: storedBytes(value),
  };
  return `${JSON.stringify(line)}\n`;
}

function recordOfLine(text: string): StoredRecord {
  const { offset, time, key, headers, value } = JSON.parse(text) as RecordLine;
  return {
    offset,
    time,
    key: bytesOfStored(key),
    headers: headers.map(([name, bytes]) => [name, bytesOfStored(bytes)!]),
    value: bytesOfStored(value),
  };
}

export const lineOfRow = ({ key, value }: StoredRow): string => `${JSON.stringify([key, value])}\n`;

/** Compresses pieces; their errors come out at the end. */
export async function* compressed(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const zstd = createZstdCompress();
  const all = pipeline(pieces, zstd);
  all.catch(() => {}); // the reader below gets the same error
  for await (const piece of zstd) yield piece as Buffer;
  await all;
}

const NEWLINE = 10;

/** Lines end with a newline only: `node:readline` also ends them at U+2028, which JSON may contain. */
async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  for await (const piece of pieces) {
    let from = 0;
    for (let to = piece.indexOf(NEWLINE); to >= 0; to = piece.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...begun, piece.subarray(from, to)]).toString('utf8');
      begun = [];
      from = to + 1;
    }
    begun.push(piece.subarray(from));
  }
  const rest = Buffer.concat(begun);
  if (rest.length > 0) throw new Refusal('a file of the log ends in the middle of a line');
}

const RECORDS_AT_ONCE = 500;

/** The records in a file, in order. */
export async function* readRecords(path: string): AsyncGenerator<readonly StoredRecord[]> {
  const zstd = createZstdDecompress();
  const all = pipeline(createReadStream(path), zstd);
  all.catch(() => {}); // the reader below gets the same error
  let some: StoredRecord[] = [];
  for await (const line of linesOf(zstd)) {
    some.push(recordOfLine(line));
    if (some.length < RECORDS_AT_ONCE) continue;
    yield some;
    some = [];
  }
  await all;
  yield some;
}

/** The rows in a file. */
export async function readRows(path: string): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  for await (const line of linesOf(createReadStream(path))) {
    const [key, value] = JSON.parse(line) as readonly [string, string | null];
    if (value === null) values.delete(key);
    else values.set(key, value);
  }
  return values;
}
