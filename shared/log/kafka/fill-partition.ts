import type { RawMessage } from './kafkajs-internals.ts';
import type { OutgoingRecord } from './messages.ts';
import { fillerHeader } from './visible-records.ts';

/** A record as it was backed up. */
export type StoredRecord = {
  readonly offset: number;
  /** time of the append, ms since 1970 */
  readonly time: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [name: string, value: Buffer])[];
};

/** A record as it was read. */
export const storedRecord = ({ offset, timestamp, key, value, headers = {} }: RawMessage): StoredRecord => ({
  offset: Number(offset),
  time: Number(timestamp),
  key,
  value,
  headers: Object.entries(headers).flatMap(([name, bytes]) =>
    [bytes ?? []].flat().map((one) => [name, Buffer.from(one)] as const),
  ),
});

type Place = { readonly topic: string; readonly partition: number };

/** approximate, with the framing of a record */
const FILLER_BYTES = 40;

/**
 * Turns the records of a partition into records to append to an empty one, so that each gets its old offset: fillers
 * stand where the records have gaps.
 *
 * @param place of the new partition; `topic`: its name on the cluster
 */
export function openFilling({ topic, partition }: Place) {
  let next = 0;
  let time = 0;
  const filler = (): OutgoingRecord => ({
    topic,
    message: { key: null, value: null, partition, timestamp: String(time), headers: { [fillerHeader]: '' } },
    bytes: FILLER_BYTES,
  });
  function* fill(to: number): Generator<OutgoingRecord> {
    if (to < next) throw new Error(`${topic}/${partition}: offset ${to} comes after ${next}`);
    for (; next < to; next += 1) yield filler();
  }
  return {
    fill,
    add: function* (record: StoredRecord): Generator<OutgoingRecord> {
      const { offset, key, value, headers } = record;
      ({ time } = record);
      yield* fill(offset);
      const bytes = (value?.length ?? 0) + (key?.length ?? 0) + FILLER_BYTES;
      const message = {
        key,
        value,
        partition,
        timestamp: String(time),
        headers: headersOf(headers),
      };
      yield { topic, message, bytes };
      next = offset + 1;
    },
  };
}

/** A name may come several times. */
function headersOf(stored: StoredRecord['headers']): Readonly<Record<string, Buffer | Buffer[]>> {
  const headers: Record<string, Buffer | Buffer[]> = {};
  for (const [name, value] of stored) {
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}
