import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writableFolder } from './checks.ts';

test('a data folder that other users can enter is noted, with a fix', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-doctor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  expect(await writableFolder(folder)).toEqual({ state: 'ok', what: `data folder ${folder}` });
  await chmod(folder, 0o750);
  expect(await writableFolder(folder)).toMatchObject({ state: 'note', advice: `chmod -R go= ${folder}` });
});
