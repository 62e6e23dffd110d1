import { crc32 } from 'node:zlib';
import { PbfWriter } from 'pbf';
import { shortHash } from '../../../shared/lang/short-hash.ts';
import type { FigureRow, TrainingRun } from './training-figures.ts';

/** `:W&B`, a magic number, and version 0 of the file. */
const FILE_HEADER = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0);
const BLOCK = 32_768;
const FRAME_HEADER = 7;
/** the oldest program that may read the file */
const MIN_CONSUMER = '0.40.0';

/** The id of a run; uploads of the same run meet under it. */
export const runId = (logId: string, adapter: string): string => `${adapter}-${shortHash(logId).slice(0, 8)}`;

/** The folder of an offline run, as W&B names it. */
export const runFolder = ({ start }: Pick<TrainingRun, 'start'>, id: string): string =>
  `offline-run-${new Date(start).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_')}-${id}`;

/**
 * An offline run of Weights & Biases, for `wandb sync`: messages `Record` (wandb/proto/wandb_internal.proto) in the
 * log format of LevelDB, with plain CRC-32 checksums. The same run always gives the same bytes.
 *
 * @param isComplete no more rows follow
 */
export function offlineRun(run: TrainingRun, id: string, isComplete: boolean): Uint8Array {
  const records = [
    (record: PbfWriter) => record.writeMessage(21, writeHeader, undefined),
    (record: PbfWriter) => record.writeMessage(17, writeRun, { run, id }),
    ...run.rows.flatMap((row) => {
      const items = itemsOf(row, run.start);
      return [
        (record: PbfWriter) => record.writeMessage(2, writeHistory, { items, step: row.step }),
        (record: PbfWriter) => record.writeMessage(3, writeItems, items),
      ];
    }),
    ...(isComplete ? [(record: PbfWriter) => record.writeMessage(18, writeExit, run)] : []),
  ];
  const messages = records.map((fill, index) => {
    const record = new PbfWriter();
    record.writeVarintField(1, index + 1);
    fill(record);
    return record.finish();
  });
  return framed(messages);
}

function writeHeader(_: undefined, header: PbfWriter): void {
  header.writeMessage(
    1,
    (_none: undefined, version) => {
      version.writeStringField(1, 'clawloop');
      version.writeStringField(2, MIN_CONSUMER);
    },
    undefined,
  );
}

type Item = readonly [name: string, value: unknown];

function writeRun({ run, id }: { readonly run: TrainingRun; readonly id: string }, message: PbfWriter): void {
  message.writeStringField(1, id);
  message.writeStringField(3, 'clawloop');
  const config = Object.entries({ adapter: run.adapter, ...run.settings });
  message.writeMessage(4, (items: readonly Item[], record) => writeConfig(items, record), config);
  message.writeStringField(8, run.adapter);
  message.writeMessage(
    17,
    (start: number, time) => {
      time.writeVarintField(1, Math.floor(start / 1000));
      time.writeVarintField(2, (start % 1000) * 1e6);
    },
    run.start,
  );
}

function writeConfig(items: readonly Item[], config: PbfWriter): void {
  for (const item of items)
    config.writeMessage(
      1,
      ([name, value]: Item, message) => {
        message.writeStringField(1, name);
        message.writeStringField(16, JSON.stringify(value ?? null));
      },
      item,
    );
}

const itemsOf = ({ step, time, figures }: FigureRow, start: number): readonly Item[] => [
  ...Object.entries(figures),
  ['_timestamp', time / 1000],
  ['_runtime', Math.max(0, (time - start) / 1000)],
  ['_step', step],
];

function writeItems(items: readonly Item[], message: PbfWriter): void {
  for (const item of items)
    message.writeMessage(
      1,
      ([name, value]: Item, entry) => {
        entry.writeStringField(2, name); // nested_key: the name is one part, whatever it contains
        entry.writeStringField(16, JSON.stringify(value));
      },
      item,
    );
}

function writeHistory(
  { items, step }: { readonly items: readonly Item[]; readonly step: number },
  history: PbfWriter,
): void {
  writeItems(items, history);
  history.writeMessage(2, (num: number, message) => message.writeVarintField(1, num), step);
}

function writeExit({ start, rows }: TrainingRun, exit: PbfWriter): void {
  exit.writeVarintField(1, 0);
  exit.writeVarintField(2, Math.max(0, Math.round(((rows.at(-1)?.time ?? start) - start) / 1000)));
}

const kinds = { whole: 1, first: 2, middle: 3, last: 4 } as const;

/** Cuts messages into frames that end at the borders of blocks; a block's last bytes stay empty if no frame fits. */
function framed(messages: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [FILE_HEADER];
  let size = FILE_HEADER.length;
  const add = (part: Uint8Array) => {
    parts.push(part);
    size += part.length;
  };
  for (const message of messages) {
    let from = 0;
    do {
      if (BLOCK - (size % BLOCK) < FRAME_HEADER) add(new Uint8Array(BLOCK - (size % BLOCK)));
      const room = BLOCK - (size % BLOCK) - FRAME_HEADER;
      const data = message.subarray(from, from + room);
      const isLast = from + data.length === message.length;
      const kind = from === 0 ? (isLast ? kinds.whole : kinds.first) : isLast ? kinds.last : kinds.middle;
      add(frameHeader(data, kind));
      add(data);
      from += data.length;
    } while (from < message.length);
  }
  return Buffer.concat(parts);
}

function frameHeader(data: Uint8Array, kind: number): Uint8Array {
  const header = Buffer.alloc(FRAME_HEADER);
  header.writeUInt32LE(crc32(data, crc32(Uint8Array.of(kind))));
  header.writeUInt16LE(data.length, 4);
  header.writeUInt8(kind, 6);
  return header;
}
