import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rollbackFact } from '../../shared/lineage/operator-facts.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { appendTurns } from './console/many-turns.ts';
import { clawloop } from './harness/clawloop.ts';
import { startService, untilReady } from './wiring/service-process.ts';

test('serving starts with, without, and with damaged stored states, and commands show the same', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-start-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const log = await openSqliteLog({ folder: join(folder, 'log') });
  await appendTurns(log, 1_500);
  // these versions have no checkpoints, so the head must be the base
  await log.append([rollbackFact({ adapter: 'default', from: 15, to: 0 }, 'clawloop/test')]);
  await log.close();
  const startAndStop = async () => {
    const service = startService('serving', ['--data-folder', folder]);
    onTestFinished(async () => void (await service.stop()));
    await untilReady(service);
    expect(await service.stop()).toMatchObject({ code: 0 });
  };
  const versions = async () => (await clawloop(['policy', 'list', '--data-folder', folder])).stdout;
  const snapshots = join(folder, 'snapshots');

  await startAndStop();
  const shown = await versions();
  expect(shown.split('\n').length).toBeGreaterThan(15);
  expect(await readdir(snapshots)).toEqual([
    'cli-policies.snapshot',
    'serving-conversations.snapshot',
    'serving-training.snapshot',
    'serving-turns.snapshot',
  ]);
  await startAndStop();
  expect(await versions()).toBe(shown);
  for (const name of await readdir(snapshots)) await writeFile(join(snapshots, name), '{"name":"');
  await startAndStop();
  expect(await versions()).toBe(shown);
});
