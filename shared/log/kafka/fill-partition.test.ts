import { expect, test } from 'vitest';
import { openFilling, type StoredRecord } from './fill-partition.ts';
import { fillerHeader } from './visible-records.ts';

const record = (offset: number): StoredRecord => ({
  offset,
  time: 1_000 + offset,
  key: Buffer.from('key'),
  value: Buffer.from(`value ${offset}`),
  headers: [['type', Buffer.from('t')]],
});

test('each record gets its old offset: fillers stand in the gaps, and up to the end', () => {
  const filling = openFilling({ topic: 'turns', partition: 2 });
  const sent = [...[1, 2, 5].flatMap((offset) => [...filling.add(record(offset))]), ...filling.fill(7)];
  const kinds = sent.map(({ message }) => message.value?.toString() ?? Object.keys(message.headers ?? {})[0]);
  expect(kinds).toEqual([
    fillerHeader,
    'value 1',
    'value 2',
    fillerHeader,
    fillerHeader,
    'value 5',
    fillerHeader,
  ]);
  expect(new Set(sent.map(({ topic, message }) => `${topic}/${message.partition}`))).toEqual(
    new Set(['turns/2']),
  );
  expect(sent.map(({ message }) => message.timestamp)).toEqual(
    [1001, 1001, 1002, 1005, 1005, 1005, 1005].map(String),
  );
});

test('several headers of one name stay apart', () => {
  const filling = openFilling({ topic: 'turns', partition: 0 });
  const [one, two] = [Buffer.from('1'), Buffer.from('2')];
  const [sent] = filling.add({
    ...record(0),
    headers: [
      ['a', one],
      ['a', two],
      ['b', one],
    ],
  });
  expect(sent!.message.headers).toEqual({ a: [one, two], b: one });
});

test('a record that comes too late is an error, not another offset', () => {
  const filling = openFilling({ topic: 'turns', partition: 0 });
  expect([...filling.add(record(3))]).toHaveLength(4);
  expect(() => [...filling.add(record(3))]).toThrow('turns/0: offset 3 comes after 4');
});
