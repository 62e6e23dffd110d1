import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { NotNow, UsageError } from '../../shared/runtime/command-errors.ts';
import { fileOf, folderWriter } from './folder-writer.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-folder-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('each session has a file, and the next process recognises it', async () => {
  const into = join(folder, 'made', 'here');
  const writer = await folderWriter(into);
  expect(await writer.isWritten('cook-1')).toBe(false);
  await writer.write([{ a: 1 }, { b: 2 }], 'cook-1');
  await writer.write([], 'empty');
  expect(await readdir(into)).toEqual(['cook-1.jsonl']);
  expect(await readFile(join(into, 'cook-1.jsonl'), 'utf8')).toBe('{"a":1}\n{"b":2}\n');
  expect(await (await folderWriter(into)).isWritten('cook-1')).toBe(true);
});

test('parts of a killed process are not sessions and are removed', async () => {
  const [old, young] = ['a.jsonl.00000000.part', 'b.jsonl.00000000.part'].map((name) => join(folder, name));
  for (const path of [old!, young!]) await writeFile(path, '{"a"');
  await utimes(old!, 0, 0);
  const writer = await folderWriter(folder);
  expect(await readdir(folder)).toEqual(['b.jsonl.00000000.part']);
  expect(await writer.isWritten('b')).toBe(false);
});

test('a failed write leaves nothing behind', async () => {
  const writer = await folderWriter(folder);
  await mkdir(join(folder, 'taken.jsonl', 'x'), { recursive: true });
  await expect(writer.write([{ a: 1 }], 'taken')).rejects.toThrow(NotNow);
  expect(await readdir(folder)).toEqual(['taken.jsonl']);
});

test('a folder that cannot be created is refused', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(folderWriter(join(folder, 'file', 'x'))).rejects.toThrow(UsageError);
});

test('file names follow session names where possible and are unique', () => {
  expect(fileOf('cook-26c8d352')).toBe('cook-26c8d352.jsonl');
  expect(fileOf('../a/b c')).toBe('%2E.%2Fa%2Fb%20c.jsonl');
  const [one, two] = ['1', '2'].map((end) => fileOf(`${'\u{1f980}'.repeat(100)}${end}`));
  expect(one).not.toBe(two);
  expect(Buffer.byteLength(one!)).toBeLessThan(220);
});
