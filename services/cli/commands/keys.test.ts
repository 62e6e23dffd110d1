import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readAccessKeys } from '../../../shared/runtime/access-keys.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { keys } from './keys.ts';

async function emptyFolder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-keys-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

test.each([
  [['create', ' '], 'keys create NAME'],
  [['create', 'bo', '--only-adapter', 'Bob B'], '--only-adapter Bob B: use only lower-case letters'],
  [['create', 'bo', '--requests-per-minute', '0'], '--requests-per-minute must be at least 1'],
  [['create', 'bo', '--expires', 'soon'], "--expires takes a time span (10m) or an ISO time, not 'soon'"],
  [['create', 'bo', '--expires', '2020-01-01'], '--expires 2020-01-01 is in the past'],
  [['create', 'bo', '--expires', '99999999d'], '--expires 99999999d is too far in the future'],
])('%j creates no key and says why', async (words, why) => {
  const root = await emptyFolder();
  await expect(keys.run([...words, '--data-folder', root])).rejects.toThrow(why);
  expect(await readdir(root)).toEqual([]);
});

test('a key may have an expiry', async () => {
  const root = await emptyFolder();
  const began = Date.now();
  expect(await keys.run(['create', 'bo', '--expires', '90d', '--data-folder', root])).toBe(0);
  const [key] = await readAccessKeys(dataFolder(root).keys);
  const days = (Date.parse(key!.expiresAt!) - began) / 86_400_000;
  expect(Math.round(days)).toBe(90);
});

test('a file with other content is left unchanged', async () => {
  const root = await emptyFolder();
  const { keys: path } = dataFolder(root);
  await writeFile(path, '{broken');
  for (const words of [['list'], ['create', 'ann'], ['remove', 'key-1']])
    await expect(keys.run([...words, '--data-folder', root])).rejects.toMatchObject({
      name: 'Refusal',
      message: expect.stringContaining(`${path} is not a list of access keys`),
    });
});
