import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { connectTo } from '../../../shared/log/kafka/connection.ts';
import { until } from './clawloop.ts';
import type { FoundWord } from './find-words.ts';

/** Bytes before the records of a batch (version 2). */
const HEADER = 61;
/** of the attributes of a batch */
const ZSTD = 4;

/**
 * Every place below a broker's data folder that holds one of the words: in the bytes of a file, and in the unpacked
 * records of a batch. It also finds what a client cannot read: deleted topics that are still there, and aborted records.
 */
export async function findWordsInSegments(
  folder: string,
  words: readonly string[],
): Promise<readonly FoundWord[]> {
  const found: FoundWord[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return Buffer.alloc(0); // deleted meanwhile
      throw error;
    });
    const contents = [bytes, ...(entry.name.endsWith('.log') ? unpackedIn(bytes) : [])];
    for (const word of words)
      if (contents.some((content) => content.includes(word)))
        found.push({ word, place: relative(folder, path) });
  }
  return found;
}

/** The records of all compressed batches of a segment. */
function unpackedIn(segment: Buffer): readonly Buffer[] {
  const unpacked: Buffer[] = [];
  for (let at = 0; at + HEADER <= segment.length; ) {
    const end = at + 12 + segment.readInt32BE(at + 8);
    if (end <= at + HEADER - 1 || end > segment.length) break; // the rest is preallocated
    const attributes = segment.readInt16BE(at + 21);
    if ((attributes & 7) === ZSTD) unpacked.push(zstdDecompressSync(segment.subarray(at + HEADER, end)));
    at = end;
  }
  return unpacked;
}

/** Reads every record of the topics with a consumer, aborted ones too. @returns keys, headers and values as text */
export async function readEveryRecord(
  brokers: readonly string[],
  isMeant: (topic: string) => boolean,
): Promise<readonly string[]> {
  const { kafka } = connectTo({ brokers });
  const groupId = `reader-${crypto.randomUUID()}`;
  const [admin, consumer] = [kafka.admin(), kafka.consumer({ groupId, readUncommitted: true })];
  const records: string[] = [];
  await Promise.all([admin.connect(), consumer.connect()]);
  try {
    const topics = (await admin.listTopics()).filter(isMeant);
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      autoCommitInterval: 100,
      eachBatch: async ({ batch }) => {
        for (const { key, value, headers } of batch.messages) {
          const texts = Object.values(headers ?? {}).map(String);
          records.push([key?.toString() ?? '', ...texts, value?.toString() ?? ''].join('\n'));
        }
      },
    });
    for (const topic of topics)
      await until(`every record of ${topic} is read`, async () => {
        const ends = await admin.fetchTopicOffsets(topic);
        const [read] = await admin.fetchOffsets({ groupId, topics: [topic] });
        return ends.every(({ partition, low, high }) => {
          const at = read?.partitions.find((one) => one.partition === partition)?.offset ?? '-1';
          return low === high || Number(at) >= Number(high);
        });
      });
    return records;
  } finally {
    await consumer.disconnect();
    await admin.deleteGroups([groupId]).catch(() => undefined);
    await admin.disconnect();
  }
}
