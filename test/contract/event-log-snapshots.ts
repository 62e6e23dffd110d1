import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { topics } from '../../shared/events/define-event.ts';
import { openSnapshots } from '../../shared/log/snapshots/snapshots.ts';
import { ledger, ledgers, startedMany, untilLevel } from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** A stored state of a view fits every EventLog that still holds what the view has read. */
export function eventLogSnapshotsContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: snapshots of views`, () => {
    const on = logForEach(makeHarness);

    test('a state fits after more appends and transactions, and never another log', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'clawloop-snapshots-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const log = await on.harness.open();
      const stop = new AbortController();
      const done = log.process(ledger, ledgers, stop.signal);
      await log.append(startedMany(30, 5));
      await untilLevel(log, 'ledgers');
      const kind = { name: 'view', version: 1, state: z.int() };
      const ends = await Promise.all(topics.map(async (topic) => [topic, await log.ends(topic)] as const));
      const stored = { upTo: Object.fromEntries(ends), state: 7 };
      const snapshots = openSnapshots({ folder, log });
      expect(await snapshots.save(kind, stored)).toBe(true);
      await log.append(startedMany(20, 5, 30));
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
      expect(await snapshots.load(kind)).toEqual(stored);
      const other = openSnapshots({ folder, log: { ...log, logId: 'another' } });
      expect(await other.load(kind)).toBeUndefined();
    });
  });
}
