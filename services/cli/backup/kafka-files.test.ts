import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { StoredRecord } from '../../../shared/log/kafka/fill-partition.ts';
import { compressed, lineOfRecord, lineOfRow, readRecords, readRows } from './kafka-files.ts';

async function newPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-kafka-files-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'file');
}

test('records come back byte for byte: line ends of Unicode, bytes that are no text, and no bytes', async () => {
  const odd = [Buffer.from('a\u2028b\u2029c\r\nd\u0000'), Buffer.from([0xff, 0xfe, 10, 0]), Buffer.from('')];
  const records: StoredRecord[] = [...odd, null].flatMap((value, index) => [
    { offset: 2 * index, time: index, key: value, value, headers: [] },
    { offset: 2 * index + 1, time: index, key: null, value, headers: [['type', odd[index % 3]!]] },
  ]);
  const many = Array.from({ length: 600 }, (_, index) => ({
    ...records[index % records.length]!,
    offset: 100 + index,
  }));
  const path = await newPath();
  const lines = async function* () {
    for (const record of [...records, ...many]) yield Buffer.from(lineOfRecord(record));
  };
  await pipeline(compressed(lines()), createWriteStream(path));
  const read: StoredRecord[] = [];
  for await (const some of readRecords(path)) read.push(...some);
  expect(read).toEqual([...records, ...many]);
});

test('an error while records are read ends the copy', async () => {
  const lines = async function* () {
    yield Buffer.from('a line\n');
    throw new Error('the broker is away');
  };
  await expect(pipeline(compressed(lines()), createWriteStream(await newPath()))).rejects.toThrow(
    'the broker is away',
  );
});

test('of rows, the last value of a key counts, and a tombstone removes it', async () => {
  const path = await newPath();
  const rows = [
    { key: 'lane\u0000a', value: '1' },
    { key: 'lane\u0000b', value: '2' },
    { key: 'lane\u0000a', value: '"\u2028"' },
    { key: 'lane\u0000b', value: null },
  ];
  await writeFile(path, rows.map(lineOfRow).join(''));
  expect(await readRows(path)).toEqual(new Map([['lane\u0000a', '"\u2028"']]));
});
