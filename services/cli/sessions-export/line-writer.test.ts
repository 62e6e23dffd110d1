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

test('a file stands there whole or not at all, and goes on after that', async () => {
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

test('a place where no file can be is named', async () => {
  await expect(fileWriter(join(folder, 'nowhere', 'out.jsonl'))).rejects.toThrow(
    /nowhere.*cannot be written/,
  );
});

test('what failed before it was ready leaves nothing behind', async () => {
  const writer = await fileWriter(join(folder, 'out.jsonl'));
  await writer.write([{ a: 1 }], 's');
  await writer.close();
  expect(await readdir(folder)).toEqual([]);
});
