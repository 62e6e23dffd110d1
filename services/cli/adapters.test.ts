import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { adaptersOf, adaptersToChange, oneAdapter } from './adapters.ts';

let folder: string;
let log: EventLog;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-cli-adapters-'));
  log = await openSqliteLog({ folder });
});
afterAll(async () => {
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const appear = (adapter: string) =>
  log.append([
    LearningPaused.create({
      id: `${adapter}/paused`,
      source: 'clawloop/test',
      time: '2026-01-01T00:00:00Z',
      data: { adapter },
    }),
  ]);

test('a command takes the adapters of the log, or the selected ones', async () => {
  expect(await adaptersOf(log, { dataFolder: folder })).toEqual(['default']);
  expect(await adaptersOf(log, { dataFolder: folder, adapters: ['new'] })).toEqual(['new']); // the log is empty
  await appear('bob');
  expect(await oneAdapter(log, { dataFolder: folder })).toBe('bob');
  await appear('alice');
  expect(await adaptersOf(log, { dataFolder: folder })).toEqual(['alice', 'bob']);
  await expect(oneAdapter(log, { dataFolder: folder })).rejects.toThrow(
    '--adapters NAME, one of: alice, bob',
  );
  expect(await oneAdapter(log, { dataFolder: folder, adapters: ['alice'] })).toBe('alice');
  expect(await adaptersOf(log, { dataFolder: folder, adapters: ['carol'] })).toEqual(['carol']);
  await expect(adaptersToChange(log, { dataFolder: folder, adapters: ['alice', 'bbo'] })).rejects.toThrow(
    "no adapter 'bbo'; it has: alice, bob",
  );
});
