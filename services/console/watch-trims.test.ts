import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { logError } from '../../shared/log/errors.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { readTrims } from '../../shared/retention/read-trims.ts';
import { trimLog } from '../../shared/retention/trim-log.ts';
import { watchTrims } from './watch-trims.ts';

const patience = { timeout: 20_000, interval: 10 };

test('a trim is seen while the console runs, with the time from which on all is there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-trims-'));
  const log = await openSqliteLog({ folder, partitions: 1 });
  const stop = new AbortController();
  const fold = log.process(
    { name: 'n', reads: 'conversations', writes: 'turns', on: () => ({ changes: [], emit: [] }) },
    { group: 'attribute', settings: null },
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort();
    await fold;
    await log.close();
    await rm(folder, { recursive: true, force: true });
  });
  for (const n of [0, 1, 2])
    await log.append([
      SessionStarted.create({
        id: `started-${n}`,
        source: 'clawloop/test',
        time: '2026-01-01T00:00:00Z',
        data: { lane: 'lane', key: 'k', session: `s${n}`, settle: 'votes' },
      }),
    ]);
  const isLevel = async () => (await log.lag('attribute')).map(({ position }) => position);
  await expect.poll(isLevel, patience).toEqual([3]);

  let looks = 0;
  let isAway = false;
  const failures: unknown[] = [];
  const starts: typeof log.starts = async (topic) => {
    looks += 1;
    if (isAway) throw logError('LogUnavailable', 'away');
    return log.starts(topic);
  };
  const told: unknown[] = [];
  const watch = watchTrims({
    log: { ...log, starts },
    signal: stop.signal,
    onFailure: (error) => void failures.push(error),
    onStarts: async (starts) => void told.push(starts),
    lookMs: 5,
  });
  await expect.poll(() => looks, patience).toBeGreaterThan(2);
  expect(watch.trimmed()).toEqual([]);
  expect(told).toEqual([{ conversations: [0], turns: [0] }]);

  const options = { keepBytes: '', source: 'clawloop/cli' as const, now: Date.now() + 1_000 };
  await trimLog(log, { ...options, keep: '0s' });
  const [trim] = await readTrims(log);
  const seen = [{ topic: 'conversations', before: trim!.data.before }];
  await expect.poll(watch.trimmed, patience).toEqual(seen);
  expect(told.slice(1)).toEqual([{ conversations: [trim!.data.to], turns: [0] }]);
  isAway = true;
  await expect.poll(() => failures.length, patience).toBeGreaterThan(1);
  expect(watch.trimmed()).toEqual(seen);
  stop.abort();
  await watch.done;
});
