import { expect, test } from 'vitest';
import type { RawMessage } from './kafkajs-internals.ts';
import { fillerHeader, visibleRecords } from './visible-records.ts';

const message = (offset: number, producerId: string | null, control?: 'commit' | 'abort'): RawMessage => ({
  offset: String(offset),
  timestamp: '0',
  key: control === undefined ? Buffer.from('key') : Buffer.from([0, 0, 0, control === 'commit' ? 1 : 0]),
  value: Buffer.from('value'),
  isControlRecord: control !== undefined,
  batchContext: {
    producerId: producerId ?? '-1',
    inTransaction: producerId !== null,
    partitionLeaderEpoch: 0,
  },
});
const offsets = (records: readonly RawMessage[]) => records.map(({ offset }) => Number(offset));

test('markers are hidden, and committed records are visible', () => {
  const messages = [message(0, 'a'), message(1, null), message(2, 'a', 'commit'), message(3, null)];
  expect(offsets(visibleRecords(messages, null))).toEqual([0, 1, 3]);
});

test('an aborted transaction is hidden up to its marker; later records of the same producer are visible', () => {
  const messages = [
    message(0, 'a'),
    message(1, 'b'),
    message(2, 'a', 'abort'),
    message(3, 'a'),
    message(4, 'b', 'commit'),
    message(5, 'a', 'commit'),
  ];
  expect(offsets(visibleRecords(messages, [{ producerId: 'a', firstOffset: '0' }]))).toEqual([1, 3]);
});

test('aborted transactions that began before the fetch are hidden from its first record on', () => {
  const messages = [message(10, 'b'), message(11, 'a'), message(12, 'b', 'abort'), message(13, 'a', 'abort')];
  const aborted = [
    { producerId: 'b', firstOffset: '9' },
    { producerId: 'a', firstOffset: '7' },
  ];
  expect(offsets(visibleRecords(messages, aborted))).toEqual([]);
});

test('a key that looks like a marker is an ordinary key', () => {
  const odd = { ...message(1, 'a'), key: Buffer.from([0, 0, 0, 0]) };
  const messages = [message(0, 'a'), odd, message(2, 'a'), message(3, 'a', 'abort')];
  expect(offsets(visibleRecords(messages, [{ producerId: 'a', firstOffset: '0' }]))).toEqual([]);
});

test('fillers are hidden', () => {
  const filler = { ...message(1, null), headers: { [fillerHeader]: Buffer.from('') } };
  expect(offsets(visibleRecords([message(0, null), filler, message(2, null)], null))).toEqual([0, 2]);
});
