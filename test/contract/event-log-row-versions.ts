import { describe, expect, test } from 'vitest';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { rebuild } from '../../shared/log/rebuild.ts';
import {
  expectedLedger,
  type LedgerSettings,
  laterLedger,
  ledger,
  ledgers,
  readLedger,
  startedMany,
  until,
  untilLevel,
} from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

const rowsOf = async (log: EventLog) => {
  const partitions = await log.committed('ledgers');
  return {
    versions: [...new Set(partitions.map(({ rowsVersion }) => rowsVersion))],
    rows: partitions
      .flatMap(({ subjects }) => subjects)
      .flatMap(({ subject, rows }) =>
        [...rows.entries('')].map(([key, row]) => [subject, key, row] as const),
      ),
  };
};

/** How every EventLog treats rows that another release wrote. */
export function eventLogRowVersionsContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: versions of rows`, () => {
    const on = logForEach(makeHarness);

    const fold = async (log: EventLog, by: Fold<LedgerSettings>): Promise<void> => {
      const stop = new AbortController();
      const done = log.process(by, ledgers, stop.signal);
      await Promise.race([untilLevel(log, 'ledgers'), done]);
      // an empty commit may be the last
      const isMigrated = async () =>
        (await rowsOf(log)).versions.join() === `${1 + (by.migrations?.length ?? 0)}`;
      await Promise.race([until(isMigrated), done]);
      stop.abort();
      await done;
    };
    /** Removes the first half of each partition, which the group has read. */
    const trimInput = async (log: EventLog): Promise<void> => {
      for (const [partition, end] of (await log.ends('conversations')).entries()) {
        const { places } = await log.retention.outline('conversations', partition);
        const place = places.findLast(({ offset }) => offset <= end / 2);
        if (place !== undefined)
          await log.retention.cut('conversations', { partition, offset: place.offset });
      }
    };

    test('earlier rows are migrated, also on a trimmed log, and the fold goes on with them', async () => {
      const before = await on.harness.open();
      for (let n = 0; n < 40; n += 8) await before.append(startedMany(8, 4, n));
      await fold(before, ledger);
      expect((await rowsOf(before)).versions).toEqual([1]);
      await trimInput(before);
      expect((await before.starts('conversations')).some((start) => start > 0)).toBe(true);
      await before.close();

      const log = await on.harness.open();
      await fold(log, laterLedger);
      const { versions, rows } = await rowsOf(log);
      expect(versions).toEqual([2]);
      expect(rows.filter(([, key]) => !key.startsWith('seen/'))).toEqual(
        rows
          .filter(([, key]) => key === 'total/all')
          .map(([subject]) => [subject, 'total/all', { events: 10 }]),
      );
      await log.append(startedMany(20, 4, 40));
      await fold(log, laterLedger);
      expect(await readLedger(log)).toEqual(expectedLedger(60, 4));
    });

    test('the rows of a new group have the present version, and a rebuild makes the same', async () => {
      const log = await on.harness.open();
      await fold(log, laterLedger);
      await log.append(startedMany(12, 4));
      await fold(log, laterLedger);
      const { versions, rows } = await rowsOf(log);
      expect(versions).toEqual([2]);
      const rebuilt = (await rebuild(log, 'ledgers', laterLedger)).flatMap(({ subjects }) => subjects);
      const again = rebuilt.flatMap(({ subject, rows: of }) =>
        [...of.entries('')].map(([key, row]) => [subject, key, row] as const),
      );
      const sorted = (all: typeof rows) => all.map((row) => JSON.stringify(row)).sort();
      expect(sorted(again)).toEqual(sorted(rows));
    });

    test('newer rows stop the group, which changes nothing and says why; the newer release goes on', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(20, 4));
      await fold(log, laterLedger);
      await log.append(startedMany(20, 4, 20));
      const [rows, lag] = [await rowsOf(log), await log.lag('ledgers')];

      const old = await on.harness.open();
      const stop = new AbortController();
      const done = old.process(ledger, ledgers, stop.signal);
      const partitions = lag.length;
      await until(() => old.troubles('ledgers').length === partitions);
      for (const { partition } of lag)
        expect(old.troubles('ledgers').join('\n')).toContain(
          `conversations/${partition}: the rows of ledgers for conversations/${partition} have version 2, and this version of ClawLoop knows 1: update it`,
        );
      expect([await rowsOf(log), await log.lag('ledgers')]).toEqual([rows, lag]);
      stop.abort();
      await done;
      expect(old.troubles('ledgers')).toEqual([]);

      await fold(log, laterLedger);
      expect(await readLedger(log)).toEqual(expectedLedger(40, 4));
    });
  });
}
