import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOfFolder } from './images.ts';

test('the digest of a folder depends only on contents, names, modes and links', async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-digest-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const make = async (name: string) => {
    const folder = join(root, name);
    await mkdir(join(folder, 'data'), { recursive: true });
    await writeFile(join(folder, 'Dockerfile'), 'FROM a\n');
    await writeFile(join(folder, 'data/run'), 'x');
    return folder;
  };
  const [first, second] = [await make('first'), await make('second')];
  const original = await digestOfFolder(first);
  expect(await digestOfFolder(second)).toBe(original);
  const seen = new Set([original]);
  const changes = [
    () => writeFile(join(second, 'data/run'), 'y'),
    () => chmod(join(second, 'data/run'), 0o755),
    () => symlink('run', join(second, 'data/link')),
    () => mkdir(join(second, 'empty')),
  ];
  for (const change of changes) {
    await change();
    const digest = await digestOfFolder(second);
    expect(seen).not.toContain(digest);
    seen.add(digest);
  }
});
