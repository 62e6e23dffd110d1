import { expect, test } from 'vitest';
import { changelogRecords, foldChangelog, readWholeCommits } from './changelog.ts';
import type { KafkaStore } from './kafka-store.ts';
import { readFrom, readOn } from './read-so-far.ts';

const record = (offset: number) => ({ offset, time: 1, type: 'a', subject: 'b', body: `{${offset}}` });

test('rows, settings and position are read back from their records, even for a subject without a name', () => {
  const changes = new Map([
    [
      'lane',
      new Map<string, unknown>([
        ['count/n', 3],
        ['seen/\u00fc', { deep: [1, null] }],
      ]),
    ],
    ['', new Map<string, unknown>([['count/n', 1]])],
  ]);
  const read = readOn(readFrom(120), [record(128), record(129)]);
  const records = changelogRecords('rows', { partition: 2, next: 130, read, rowsVersion: 3 }, changes, {
    from: 120,
    json: '{"label":"one"}',
  });
  expect(new Set(records.map(({ message }) => message.partition))).toEqual(new Set([2]));
  const values = new Map(records.map(({ message }) => [String(message.key), String(message.value)]));
  expect(foldChangelog(values)).toEqual({
    rows: [
      ['lane', 'count/n', 3],
      ['lane', 'seen/\u00fc', { deep: [1, null] }],
      ['', 'count/n', 1],
    ],
    stretches: [{ from: 120, settings: '{"label":"one"}' }],
    position: 130,
    read,
    rowsVersion: 3,
  });
});

test('a removed row is a tombstone, so compaction deletes it', () => {
  const changes = new Map([['lane', new Map<string, unknown>([['count/n', undefined]])]]);
  const [first] = changelogRecords(
    'rows',
    { partition: 0, next: 1, read: readFrom(0), rowsVersion: null },
    changes,
    null,
  );
  expect(first!.message).toEqual({ key: 'lane\u0000count/n', value: null, partition: 0 });
});

test('stretches are sorted by position, not by text', () => {
  const values = new Map([100, 20, 3].map((from) => [`\u0000\u0000settings/${from}`, String(from)]));
  expect(foldChangelog(values).stretches.map(({ from }) => from)).toEqual([3, 20, 100]);
});

test('a reader that sees only the beginning of the last commit ignores that commit', async () => {
  const commit = (next: number, count: number) =>
    changelogRecords(
      'rows',
      { partition: 0, next, read: readFrom(next), rowsVersion: null },
      new Map([['lane', new Map<string, unknown>([['count/n', count]])]]),
      null,
    ).map(({ message }) => ({
      key: Buffer.from(String(message.key)),
      value: Buffer.from(String(message.value)),
    }));
  const loaded = async (records: ReturnType<typeof commit>) => {
    const query = {
      offsets: async (_: string, which: 'start' | 'end') => [which === 'start' ? 0 : records.length],
      fetch: async () => [{ records, next: records.length }],
    };
    const { rows, position } = await readWholeCommits({ query } as unknown as KafkaStore, 'rows', 0);
    return [rows, position];
  };
  const two = [...commit(10, 1), ...commit(20, 2)];
  expect(await loaded(two)).toEqual([[['lane', 'count/n', 2]], 20]);
  for (const seen of [1, 2])
    expect(await loaded(two.slice(0, -seen))).toEqual([[['lane', 'count/n', 1]], 10]);
});
