import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import { keys } from './keys.ts';

async function emptyFolder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-keys-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

test.each([
  [['create', ' '], 'keys create NAME'],
  [['create', 'bo', '--only-adapter', 'Bob B'], '--only-adapter Bob B? a name has small letters'],
  [['create', 'bo', '--requests-per-minute', '0'], '--requests-per-minute must be at least 1'],
])('%j makes no key, and says why', async (words, why) => {
  const root = await emptyFolder();
  await expect(keys.run([...words, '--data-folder', root])).rejects.toThrow(why);
  expect(await readdir(root)).toEqual([]);
});

test('a file that holds something else is left as it is', async () => {
  const root = await emptyFolder();
  const { keys: path } = dataFolder(root);
  await writeFile(path, '{broken');
  for (const words of [['list'], ['create', 'ann'], ['remove', 'key-1']])
    await expect(keys.run([...words, '--data-folder', root])).rejects.toMatchObject({
      name: 'Refusal',
      message: expect.stringContaining(`${path} holds no list of access keys`),
    });
});
