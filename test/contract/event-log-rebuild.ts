import { describe, expect, test } from 'vitest';
import type { EventLog, SubjectView } from '../../shared/log/event-log.ts';
import { rebuild } from '../../shared/log/rebuild.ts';
import { ledger, ledgers, readTopic, startedMany, until, untilLevel } from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** What every EventLog can rebuild. */
export function eventLogRebuildContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: rebuild`, () => {
    const on = logForEach(makeHarness);

    test('a rebuild from zero makes the same rows and facts, each stretch under its settings', async () => {
      let written = 0;
      for (const label of ['one', 'two', 'three']) {
        const log = await on.harness.open();
        const rounds = new AbortController();
        await log.append(startedMany(30, 4, written));
        written += 30;
        const done = log.process(ledger, { ...ledgers, settings: { label } }, rounds.signal);
        await untilLevel(log, 'ledgers');
        rounds.abort();
        await done;
      }
      const log = await on.harness.open();
      const stretches = await log.stretches('ledgers');
      const lag = await log.lag('ledgers');
      for (const { partition, end } of lag.filter((of) => of.end > 0)) {
        const of = stretches.filter((stretch) => stretch.partition === partition);
        expect(of.map(({ settings }) => settings)).toEqual([
          { label: 'one' },
          { label: 'two' },
          { label: 'three' },
        ]);
        expect(of[0]!.from).toBe(0);
        expect(of[2]!.from).toBeLessThan(end);
      }
      const rebuilt = await rebuild(log, 'ledgers', ledger);
      const turns = await readTopic(log, 'turns');
      for (const { partition, emitted } of rebuilt) {
        expect(emitted).toEqual(
          turns.filter(({ at }) => at.partition === partition).map(({ event }) => event),
        );
      }
      const committed = await committedRows(log);
      const entries = rebuilt.flatMap(({ subjects }) =>
        subjects.map(({ subject, rows }) => [subject, [...rows.entries('')]]),
      );
      expect(Object.fromEntries(entries)).toEqual(committed);
    });

    test('the committed rows and their positions are those from which the group would continue', async () => {
      const log = await on.harness.open();
      expect(await log.committed('ledgers')).toEqual([]);
      for (const written of [0, 30]) {
        await log.append(startedMany(30, 4, written));
        const rounds = new AbortController();
        const done = log.process(ledger, ledgers, rounds.signal);
        await untilLevel(log, 'ledgers');
        rounds.abort();
        await done;
      }
      const partitions = await log.committed('ledgers');
      const rebuilt = await rebuild(log, 'ledgers', ledger, partitions);
      for (const { topic, partition, position, subjects } of partitions) {
        expect(topic).toBe('conversations');
        const again = rebuilt.find((one) => one.partition === partition)!;
        expect(position).toBe(again.position);
        expect(rowsOf(subjects)).toEqual(rowsOf(again.subjects));
      }
      const all = Object.assign({}, ...partitions.map(({ subjects }) => rowsOf(subjects)));
      expect(all).toEqual(await committedRows(log));
      expect(Object.keys(all).sort()).toEqual(['lane-0', 'lane-1', 'lane-2', 'lane-3']);
    });
  });
}

const rowsOf = (subjects: readonly SubjectView[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(subjects.map(({ subject, rows }) => [subject, [...rows.entries('')]]));

/** As handed to `owed` at take-over. */
async function committedRows(log: EventLog): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown> = {};
  const partitions = new Set<number>();
  const enough = new AbortController();
  const owed = (views: readonly SubjectView[]) => {
    for (const { subject, partition, rows: of } of views) {
      rows[subject] = [...of.entries('')];
      partitions.add(partition);
    }
  };
  const nonEmpty = (await log.ends('conversations')).filter((end) => end > 0).length;
  const done = log.process(ledger, { ...ledgers, owed }, enough.signal);
  await until(() => partitions.size === nonEmpty);
  enough.abort();
  await done;
  return rows;
}
