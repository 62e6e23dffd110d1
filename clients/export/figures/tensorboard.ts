import { PbfWriter } from 'pbf';
import { crc32c } from './crc32c.ts';
import type { FigureRow, TrainingRun } from './training-figures.ts';

/**
 * An event file of TensorBoard: TFRecords, each an `Event` message (tensorflow/core/util/event.proto). One point per
 * figure and step. The same run always gives the same bytes, and more rows give more bytes at the end.
 */
export const eventFile = ({ start, rows }: TrainingRun): Uint8Array =>
  Buffer.concat([
    record(event(start, (message) => message.writeStringField(3, 'brain.Event:2'))),
    ...rows.map((row) => record(rowEvent(row))),
  ]);

/** TensorBoard reads files with `tfevents` in their name, in the order of their names. */
export const eventFileName = ({ start }: Pick<TrainingRun, 'start'>): string =>
  `events.out.tfevents.${String(Math.floor(start / 1000)).padStart(10, '0')}.clawloop`;

function event(time: number, fill: (message: PbfWriter) => void): Uint8Array {
  const message = new PbfWriter();
  message.writeDoubleField(1, time / 1000); // wall_time
  fill(message);
  return message.finish();
}

const rowEvent = ({ step, time, figures }: FigureRow): Uint8Array =>
  event(time, (message) => {
    message.writeVarintField(2, step);
    message.writeMessage(5, writeSummary, figures);
  });

function writeSummary(figures: FigureRow['figures'], summary: PbfWriter): void {
  for (const [tag, value] of Object.entries(figures)) summary.writeMessage(1, writeValue, { tag, value });
}

function writeValue(
  { tag, value }: { readonly tag: string; readonly value: number },
  message: PbfWriter,
): void {
  message.writeStringField(1, tag);
  message.writeFloatField(2, value); // simple_value
}

/** Length, its checksum, data, its checksum (tensorflow/core/lib/io/record_writer.h). */
function record(data: Uint8Array): Uint8Array {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, maskedCrc(length), data, maskedCrc(data)]);
}

/** A rotated and shifted checksum, so that the checksum of data that contain checksums stays strong. */
function maskedCrc(data: Uint8Array): Uint8Array {
  const crc = crc32c(data);
  const masked = Buffer.alloc(4);
  masked.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
  return masked;
}
