import { expect, test } from 'vitest';
import { followRows, type StoredRow } from './follow-rows.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import type { FetchedPartition } from './topic-reader.ts';

const message = (offset: number): RawMessage => ({
  offset: String(offset),
  timestamp: '0',
  key: Buffer.from(`key ${offset}`),
  value: offset % 2 === 0 ? Buffer.from('{}') : null,
  isControlRecord: false,
  batchContext: { producerId: '-1', inTransaction: false, partitionLeaderEpoch: 0 },
});

/** A partition that has these offsets, read by two at a time. */
function rowsOf(partition: { offsets: readonly number[]; stable: number }) {
  const fetch = async (_: string, from: ReadonlyMap<number, number>): Promise<FetchedPartition[]> => {
    const at = from.get(0)!;
    const records = partition.offsets
      .filter((offset) => offset >= at)
      .slice(0, 2)
      .map(message);
    const last = records.at(-1);
    const next = last === undefined ? partition.stable : Number(last.offset) + 1;
    const isDense = records.every(({ offset }, index) => Number(offset) === at + index);
    return [{ partition: 0, records, next, stable: partition.stable, end: partition.stable, isDense }];
  };
  const query = { fetch, offsets: async () => [], close: async () => {} };
  return followRows(query, { topic: 'rows', partition: 0 }, 0);
}

const keysOf = (rows: readonly StoredRow[] | undefined) => rows?.map(({ key }) => key.slice(4));

test('the rows are read up to the present, which may move, and then up to an end', async () => {
  const partition = { offsets: [0, 3, 4], stable: 5 };
  const rows = rowsOf(partition);
  const read: StoredRow[] = [];
  for await (const some of rows.toPresent()) {
    read.push(...some);
    Object.assign(partition, { offsets: [0, 3, 4, 5, 6, 7], stable: 8 });
  }
  expect(keysOf(read)).toEqual(['0', '3', '4', '5', '6', '7']);
  expect(read.slice(0, 2)).toEqual([
    { key: 'key 0', value: '{}' },
    { key: 'key 3', value: null },
  ]);
  Object.assign(partition, { offsets: [8, 9, 10, 11], stable: 12 });
  expect(keysOf(await rows.to(11))).toEqual(['8', '9', '10']);
  expect(keysOf(await rows.to(11))).toEqual([]);
  expect(keysOf(await rows.to(12))).toEqual(['11']);
});

test('after a compaction the state at an end is unknown, and the rows are read up to the present again', async () => {
  const partition = { offsets: [0, 1, 2, 3, 5, 6], stable: 7 };
  const rows = rowsOf(partition);
  expect(await rows.to(6)).toBeUndefined();
  const read: StoredRow[] = [];
  for await (const some of rows.toPresent()) read.push(...some);
  expect(keysOf(read)).toEqual(['0', '1', '2', '3', '5', '6']);
});

test('an end that the partition no longer has is an error', async () => {
  const rows = rowsOf({ offsets: [0, 1], stable: 2 });
  await expect(rows.to(3)).rejects.toThrow('rows/0 ends at 2, and ended at 3 a moment ago');
});
