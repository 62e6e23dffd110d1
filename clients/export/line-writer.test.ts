import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileWriter } from './line-writer.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-export-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('a file appears when complete; later lines are appended', async () => {
  const path = join(folder, 'out.jsonl');
  await writeFile(path, 'before\n');
  const writer = await fileWriter(path);
  await writer.write([{ a: 1 }, { b: [2] }], 's');
  expect(await readFile(path, 'utf8')).toBe('before\n');
  await writer.ready();
  expect(await readFile(path, 'utf8')).toBe('{"a":1}\n{"b":[2]}\n');
  await writer.write([{ c: 3 }], 's');
  await writer.close();
  expect(await readFile(path, 'utf8')).toBe('{"a":1}\n{"b":[2]}\n{"c":3}\n');
  expect(await readdir(folder)).toEqual(['out.jsonl']);
});

test('a path that cannot be created is refused', async () => {
  await expect(fileWriter(join(folder, 'nowhere', 'out.jsonl'))).rejects.toThrow(/cannot write .*nowhere/);
});

test('a failure before ready leaves nothing behind', async () => {
  const writer = await fileWriter(join(folder, 'out.jsonl'));
  await writer.write([{ a: 1 }], 's');
  await writer.close();
  expect(await readdir(folder)).toEqual([]);
});
