import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { readNotedHeads, verifyChains } from './verify-chains.ts';

const started = (n: number) =>
  SessionStarted.create({
    id: `e${n}`,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { lane: 'a', key: 'k', session: `s${n}`, settle: 'votes' },
  });

async function openLog() {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-heads-'));
  const log = await openSqliteLog({ folder, partitions: 1 });
  onTestFinished(async () => {
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { log, folder };
}

test('noted heads are compared with the current log', async () => {
  const { log, folder } = await openLog();
  await log.append([started(0), started(1)]);
  const file = join(folder, 'noted.json');
  await writeFile(file, JSON.stringify({ logId: log.logId, ...(await verifyChains(log)) }));
  await log.append([started(2)]);
  const noted = await readNotedHeads(file);
  expect((await verifyChains(log, noted)).broken).toEqual([]);
  expect((await verifyChains(log, { ...noted, logId: 'another' })).broken).toEqual([
    'the noted heads are of another log, another',
  ]);
  const db = new DatabaseSync(join(folder, 'log.sqlite'));
  db.exec(`UPDATE records SET body = replace(body, '"s1"', '"s9"')`);
  db.close();
  expect((await verifyChains(log, noted)).broken).toEqual([
    'conversations/0, offsets 0 to 2: the records are not those that were appended',
  ]);
});

test('a file without heads is refused', async () => {
  const { folder } = await openLog();
  const file = join(folder, 'noted.json');
  await writeFile(file, '{"heads": 3}');
  await expect(readNotedHeads(file)).rejects.toThrow('has no chain heads of an audit');
  await expect(readNotedHeads(join(folder, 'none.json'))).rejects.toThrow('--heads');
});
