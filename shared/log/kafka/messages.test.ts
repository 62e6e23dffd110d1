import { expect, test } from 'vitest';
import { asBatch, intoSends, type OutgoingRecord } from './messages.ts';

const mebibyte = 2 ** 20;
const record = (key: string, bytes: number, topic = 'turns'): OutgoingRecord => ({
  topic,
  message: { key, value: null, partition: 0 },
  bytes,
});
const keys = (sends: readonly (readonly OutgoingRecord[])[]) =>
  sends.map((send) => send.map(({ message }) => message.key).join(''));

test('records are split into sends in order, and a large record is sent alone', () => {
  const records = [record('a', mebibyte), record('b', mebibyte), record('c', 9 * mebibyte), record('d', 1)];
  expect(keys(intoSends(records))).toEqual(['ab', 'c', 'd']);
  expect(intoSends([])).toEqual([]);
});

test('a send keeps the order within each topic', () => {
  const batch = asBatch([record('a', 1), record('b', 1, 'rows'), record('c', 1)]);
  expect(batch.topicMessages.map(({ topic, messages }) => [topic, messages.map(({ key }) => key)])).toEqual([
    ['turns', ['a', 'c']],
    ['rows', ['b']],
  ]);
});
