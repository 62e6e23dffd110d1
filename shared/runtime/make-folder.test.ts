import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeFolder } from './make-folder.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'clawloop-folder-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test('a folder and its parents are created, also concurrently, and stay empty', async () => {
  const folder = join(root, 'a', 'b', 'c');
  await Promise.all([makeFolder(folder), makeFolder(folder), makeFolder(join(root, 'a'))]);
  expect(await readdir(folder)).toEqual([]);
});

test('a file, or a path below a file, is refused', async () => {
  await writeFile(join(root, 'file'), '');
  for (const path of ['file', 'file/below'])
    await expect(makeFolder(join(root, path))).rejects.toMatchObject({
      name: 'Refusal',
      message: expect.stringContaining('cannot write to'),
    });
});

test.skipIf(process.platform !== 'linux')(
  'a path in which no folder can be created is refused at once',
  async () => {
    await expect(makeFolder('/proc/x/data')).rejects.toMatchObject({ name: 'Refusal' });
  },
);
