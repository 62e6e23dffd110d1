import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { dataFolder } from './data-folder.ts';
import { diskUse } from './disk-use.ts';
import { makeFolder } from './make-folder.ts';

const HOUR = 3_600_000;

async function folderWith(files: Readonly<Record<string, number>>) {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-disk-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [path, size] of Object.entries(files)) {
    await makeFolder(join(root, path, '..'));
    await writeFile(join(root, path), Buffer.alloc(size));
  }
  return dataFolder(root);
}

test('bytes are counted by kind, and what has no kind is other', async () => {
  const data = await folderWith({
    'log/log.sqlite': 1000,
    'checkpoints/default/1/state.json': 200,
    'adapters/default/1/adapter.safetensors': 40,
    'outbox/a': 5,
    'answers/b': 6,
    'logs/judge.log': 70,
    'keys.json': 3,
  });
  expect(await diskUse(data, undefined)).toMatchObject({
    log: 1000,
    checkpoints: 200,
    adapters: 40,
    outbox: 5,
    answers: 6,
    serviceLogs: 70,
    other: 3,
    perDay: null,
    daysLeft: null,
  });
});

test('growth is the size over the age of the log; a young log gives no forecast', async () => {
  const data = await folderWith({ 'log/log.sqlite': 2400 });
  const use = await diskUse(data, 0, 48 * HOUR);
  expect(use.perDay).toBe(1200);
  expect(use.daysLeft).toBeCloseTo(use.free! / 1200, 6);
  expect((await diskUse(data, 0, HOUR / 2)).perDay).toBeNull();
});

test('without a data folder nothing is known', async () => {
  const use = await diskUse(dataFolder('/nonexistent/clawloop'), undefined);
  expect(use).toMatchObject({ log: 0, other: 0, free: null, daysLeft: null });
});
