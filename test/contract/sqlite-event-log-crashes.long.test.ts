import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isLogError } from '../../shared/log/errors.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import type { Child } from './event-log-child.ts';
import { eventLogChaosContract, eventLogCrashContract } from './event-log-crashes.ts';
import {
  expectedLedger,
  readLedger,
  readTopic,
  started,
  startedMany,
  until,
  untilLevel,
} from './event-log-fixtures.ts';
import { sqliteHarness, startSteppedChild } from './sqlite-event-log-harness.ts';

eventLogCrashContract('SQLite log', () => sqliteHarness());
eventLogChaosContract('SQLite log', () => sqliteHarness(900), { rounds: 6, events: 3_000, seed: 1 });

const steps = ['begun', 'fenced', 'rows', 'records', 'written', 'committed'];
const lanes = 5;
const tableOf = (key: string): string => key.slice(0, key.indexOf('/'));

describe('SQLite log: a signal at every step of a commit', () => {
  let harness: Awaited<ReturnType<typeof sqliteHarness>>;
  let child: Child | undefined;
  beforeEach(async () => {
    harness = await sqliteHarness();
  });
  afterEach(async () => {
    await child?.kill();
    await harness.dispose();
  });

  const member = () => startSteppedChild(harness, { kind: 'process', group: 'ledgers', label: 'one' });
  const later = () =>
    startSteppedChild(harness, { kind: 'process', group: 'ledgers', label: 'one', isLater: true });
  const arm = (signal: 'SIGKILL' | 'SIGSTOP', step: string) => {
    const file = join(harness.folder, `${signal}-at-${step}`);
    writeFileSync(file, '');
    return until(() => !existsSync(file));
  };
  const isStopped = (pid: number) =>
    process.platform !== 'linux' || /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

  test('SIGKILL: the commit is complete or absent', async () => {
    const log = await harness.open();
    let written = 0;
    const append = async () => {
      await log.append(startedMany(25, lanes, written));
      written += 25;
    };
    for (const step of steps) {
      child = member();
      await child.said('open');
      const struck = arm('SIGKILL', step);
      await append();
      await struck;
      expect(await child.exited).toBe('SIGKILL');
      await append();
    }
    child = member();
    await untilLevel(log, 'ledgers');
    expect(await readLedger(log)).toEqual(expectedLedger(written, lanes));
  });

  test('SIGKILL during a migration: the rows of a partition are all as before, or all migrated', async () => {
    const log = await harness.open();
    await log.append(startedMany(50, lanes));
    child = member();
    await untilLevel(log, 'ledgers');
    await child.kill();
    const keysByVersion = async () =>
      (await log.committed('ledgers')).map(({ rowsVersion, subjects }) => ({
        rowsVersion,
        tables: [
          ...new Set(subjects.flatMap(({ rows }) => [...rows.entries('')].map(([key]) => tableOf(key)))),
        ],
      }));
    for (const step of ['fenced', 'rows', 'records']) {
      const struck = arm('SIGKILL', step);
      child = later();
      await struck;
      expect(await child.exited).toBe('SIGKILL');
      for (const { rowsVersion, tables } of await keysByVersion())
        expect(tables.toSorted()).toEqual(rowsVersion === 1 ? ['count', 'seen'] : ['seen', 'total']);
      expect((await keysByVersion()).some(({ rowsVersion }) => rowsVersion === 1)).toBe(true);
    }
    await log.append(startedMany(50, lanes, 50));
    child = later();
    await untilLevel(log, 'ledgers');
    expect(await readLedger(log)).toEqual(expectedLedger(100, lanes));
    expect(new Set((await keysByVersion()).map(({ rowsVersion }) => rowsVersion))).toEqual(new Set([2]));
  });

  test('SIGSTOP: reads continue, writes wait and name the process, and after SIGCONT nothing counts twice', async () => {
    const log = await openSqliteLog({
      folder: harness.folder,
      sessionTimeoutMs: harness.sessionTimeoutMs,
      deliveryTimeoutMs: 1_000,
    });
    const writer = await harness.open();
    child = member();
    await writer.append(startedMany(25, lanes));
    let written = 25;
    for (const step of steps) {
      // The group has no lag, so its next write is a commit of the next events, not a claim of a partition.
      await untilLevel(log, 'ledgers');
      const struck = arm('SIGSTOP', step);
      await writer.append(startedMany(25, lanes, written));
      written += 25;
      await struck;
      const { pid } = child;
      await until(() => isStopped(pid));
      expect((await readTopic(log, 'conversations')).length).toBe(written);
      if (step !== 'committed') {
        const error = await log.append([started('never', written)]).catch((thrown: unknown) => thrown);
        expect(isLogError(error, 'LogUnavailable')).toBe(true);
        if (process.platform === 'linux')
          expect((error as Error).message).toMatch(/process \d+, which is stopped/);
      }
      writeFileSync(join(harness.folder, `woken-at-${step}`), '');
      child.signal('SIGCONT');
    }
    await untilLevel(log, 'ledgers');
    await log.close();
    const after = await harness.open();
    const { never: _, ...lanesRead } = await readLedger(after);
    expect(lanesRead).toEqual(expectedLedger(written, lanes));
  });
});

describe('SQLite log: a full disk', () => {
  const mayMount = spawnSync('unshare', ['-Urm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
  const required = process.env.CLAWLOOP_REQUIRE_ALL === '1';
  test.skipIf(!mayMount && !required)(
    'an append is refused, and the next goes through once there is space',
    async () => {
      const harness = await sqliteHarness();
      const disk = join(harness.folder, 'disk');
      const script = new URL('./sqlite-event-log-full-disk.ts', import.meta.url).pathname;
      const shell = 'mkdir "$0" && mount -t tmpfs -o size=6m none "$0" && exec "$@"';
      const ran = spawnSync('unshare', ['-Urm', 'sh', '-c', shell, disk, process.execPath, script, disk], {
        encoding: 'utf8',
      });
      await harness.dispose();
      expect(ran.status, ran.stderr).toBe(0);
      expect(ran.stdout.trim().split('\n').at(-1)).toBe(
        'refused with LogUnavailable, then went on; nothing acknowledged is missing',
      );
    },
  );
});
