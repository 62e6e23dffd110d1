import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { appendTurns } from '../../../test/e2e/console/many-turns.ts';
import { followStatus } from './follow-status.ts';

test('the live line goes on from the stored state with the same counters as from the first record', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-status-'));
  const log = await openSqliteLog({ folder: join(folder, 'log'), partitions: 1 });
  onTestFinished(async () => {
    await log.close();
    await rm(folder, { recursive: true });
  });
  const statusIn = async (kept: string, adapters = ['default']) => {
    const stop = new AbortController();
    const snapshots = join(folder, kept);
    const followed = await followStatus({ log, snapshots, adapters, signal: stop.signal });
    await followed.caughtUp;
    stop.abort();
    await followed.close();
    return { status: followed.status.status(), state: followed.status.state() };
  };
  for (const turns of [0, 130, 250]) {
    await appendTurns(log, turns); // the earlier ones are copies
    const { status, state } = await statusIn('kept');
    const { status: whole, state: wholeState } = await statusIn(`new-${turns}`);
    expect(status).toEqual(whole);
    expect(state).toEqual(wholeState);
    expect(status).toMatchObject({ interactions: turns, skipped: turns / 10, verdicts: 0.9 * turns });
  }
  const names = (await statusIn('kept', ['default', 'new'])).status.adapters.map(({ adapter }) => adapter);
  expect(names).toEqual(['default', 'new']);
});
