import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { topics } from '../../shared/events/define-event.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openSnapshots } from '../../shared/log/snapshots/snapshots.ts';
import { countingReads } from '../../shared/log/testing/counting-reads.ts';
import type { TurnIndex } from '../../shared/views/turn-index/queries.ts';
import { withTurnIndex } from '../../shared/views/turn-index/turn-index.ts';
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

    test('the index of turns goes on after more appends and transactions, and never for another log', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'clawloop-index-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const log = await on.harness.open();
      const stop = new AbortController();
      const done = log.process(ledger, ledgers, stop.signal);
      const read = async (at: string, of: EventLog = log) => {
        const counting = countingReads(of);
        const use = (index: TurnIndex) =>
          index.sessions().toSorted((a, b) => (a.session < b.session ? -1 : 1));
        const sessions = await withTurnIndex({ log: counting.log, folder: at }, use);
        return { sessions, records: counting.count() };
      };
      const append = async (count: number, from = 0): Promise<void> => {
        await log.append(startedMany(count, 5, from));
        await untilLevel(log, 'ledgers');
      };
      await append(30);
      const first = await read(folder);
      await append(20, 30);
      stop.abort();
      await done;
      const nowhere = fileURLToPath(import.meta.url);
      const atOnce = await read(nowhere);
      expect(atOnce.sessions.length).toBe(50);
      const next = { ...atOnce, records: atOnce.records - first.records };
      expect(await read(folder)).toEqual(next);
      expect(await read(folder)).toEqual({ ...next, records: 0 });
      expect(await read(folder, { ...log, logId: 'another' })).toEqual(atOnce);
    });
  });
}
