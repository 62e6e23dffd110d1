import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { type ChainHead, emptyChain, linkAfter } from '../../../shared/log/chain.ts';
import type { KafkaConnectionOptions } from '../../../shared/log/kafka/connection.ts';
import { storedRecord } from '../../../shared/log/kafka/fill-partition.ts';
import type { RawMessage } from '../../../shared/log/kafka/kafkajs-internals.ts';
import {
  type LogCut,
  type LogReader,
  openLogReader,
  type PartitionRange,
} from '../../../shared/log/kafka/log-cut.ts';
import { chainedRecord } from '../../../shared/log/kafka/messages.ts';
import { eventsOf, toldTrims } from '../../../shared/log/kafka/told-trims.ts';
import { copyPieces, digestOfFile, filesBelow, flush, type Reading } from './copy-file.ts';
import { using } from './file-errors.ts';
import {
  compressed,
  fileNumber,
  KAFKA_LOG,
  type KafkaLog,
  lineOfRecord,
  lineOfRow,
  pathOfRecords,
  pathOfRows,
  type StoredRange,
} from './kafka-files.ts';
import type { CopiedLog, LogSource, LogState } from './log-source.ts';
import type { StoredFile } from './manifest.ts';
import { lineageTypes } from './named-checkpoints.ts';

/** ms to wait for a moment without writes */
const PATIENCE_MS = 60_000;

/** A record counts as so many bytes in the progress: Kafka does not say how large a log is. */
const PROGRESS_PER_RECORD = 1_000;

/** The log on Kafka. @throws LogUnavailable, LogMismatch */
export async function kafkaSource(connection: KafkaConnectionOptions): Promise<LogSource> {
  const reader = await openLogReader(connection);
  return {
    logId: reader.logId,
    open: (staged, signal) => openState(reader, staged, signal),
    close: reader.close,
  };
}

async function openState(reader: LogReader, staged: string, signal: AbortSignal): Promise<LogState> {
  const cut = await reader.cut({
    patienceMs: PATIENCE_MS,
    signal,
    onRows: async ({ group, partition }, rows) => {
      const path = join(staged, pathOfRows(group, partition));
      await using('write', path, async () => {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await appendFile(path, rows.map(lineOfRow).join(''), { mode: 0o600 });
      });
    },
  });
  const lineage: ClawLoopEvent[] = [];
  for await (const event of eventsOf(cut, 'training', lineageTypes)) lineage.push(event);
  return {
    bytes: 0,
    work: cut.ranges.reduce((sum, { start, end }) => sum + (end - start) * PROGRESS_PER_RECORD, 0),
    lineage,
    copyTo: (to, reading) => copyLog(reader.logId, cut, to, reading),
    close: () => {},
  };
}

async function copyLog(logId: string, cut: LogCut, staged: string, reading: Reading): Promise<CopiedLog> {
  const trims = await toldTrims(cut);
  const heads: ChainHead[] = [];
  const ranges: StoredRange[] = [];
  const files: StoredFile[] = [];
  let records = 0;
  for (const range of cut.ranges) {
    const { topic, partition, start, end } = range;
    const trim = trims.find((one) => one.topic === topic && one.partition === partition && one.to === start);
    const link = trim?.head ?? emptyChain;
    const copied = await copyRange(cut, range, { staged, link, reading });
    ranges.push({ topic, partition, start, end, link });
    heads.push({ topic, partition, from: trim?.from ?? start, to: end, head: copied.link });
    files.push(...copied.files);
    records += copied.records;
  }
  const described: KafkaLog = {
    format: 1,
    logId,
    partitions: Math.max(...ranges.map(({ partition }) => partition + 1)),
    groups: cut.groups.map(({ group, topic }) => ({ group, topic })),
    ranges,
  };
  const path = join(staged, KAFKA_LOG);
  await using('write', path, async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, `${JSON.stringify(described, null, 2)}\n`, { mode: 0o600 });
  });
  const rows = (await filesBelow(join(staged, 'log', 'rows'))).map((name) => join('log', 'rows', name));
  for (const name of [KAFKA_LOG, ...rows]) {
    await using('write', join(staged, name), () => flush(join(staged, name)));
    files.push({
      path: name,
      ...(await digestOfFile(join(staged, name), { ...reading, onBytes: () => {} })),
    });
  }
  return { files, heads, records };
}

type Copying = { readonly staged: string; readonly link: string; readonly reading: Reading };

type CopiedRange = {
  readonly files: readonly StoredFile[];
  readonly link: string;
  readonly records: number;
};

/** Writes the records of a partition to its files, and continues the chain. */
async function copyRange(
  cut: LogCut,
  range: PartitionRange,
  { staged, link: before, reading: { onBytes, signal } }: Copying,
): Promise<CopiedRange> {
  const each = flat(cut.records(range));
  let records = 0;
  const files: StoredFile[] = [];
  let link = before;
  let passed = range.start;
  let next = await each.next();
  const linesOf = async function* (file: number): AsyncGenerator<Uint8Array> {
    let text = '';
    for (; !next.done && fileNumber(Number(next.value.offset)) === file; next = await each.next()) {
      const raw = next.value;
      records += 1;
      link = linkAfter(link, [chainedRecord(raw)]);
      text += lineOfRecord(storedRecord(raw));
      if (text.length < LINES_AT_ONCE) continue;
      yield Buffer.from(text);
      text = '';
      onBytes((Number(raw.offset) - passed) * PROGRESS_PER_RECORD);
      passed = Number(raw.offset);
    }
    yield Buffer.from(text);
  };
  while (!next.done) {
    const file = fileNumber(Number(next.value.offset));
    const path = pathOfRecords(range, file);
    const written = await copyPieces(compressed(linesOf(file)), join(staged, path), {
      onBytes: () => {},
      signal,
    });
    files.push({ path, ...written });
  }
  onBytes((range.end - passed) * PROGRESS_PER_RECORD);
  return { files, link, records };
}

/** characters */
const LINES_AT_ONCE = 2 ** 18;

async function* flat(batches: AsyncIterable<readonly RawMessage[]>): AsyncGenerator<RawMessage, undefined> {
  for await (const batch of batches) yield* batch;
}
