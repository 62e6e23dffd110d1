import { describe, expect, test } from 'vitest';
import {
  echo,
  expectedLedger,
  feedback,
  ledger,
  ledgers,
  readLedger,
  readTopic,
  started,
  startedMany,
  untilLevel,
} from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** What every EventLog guarantees to folds, in one process. */
export function eventLogProcessContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: process`, () => {
    const on = logForEach(makeHarness);

    test('every event is folded once, in order, and duplicates are recognised by their id', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(100, 5));
      await log.append(startedMany(10, 5));
      const done = log.process(ledger, ledgers, on.stop.signal);
      await log.append(startedMany(100, 5, 100));
      await untilLevel(log, 'ledgers');
      await log.append(startedMany(10, 5, 95));
      await untilLevel(log, 'ledgers');
      on.stop.abort();
      await done;
      expect(await readLedger(log)).toEqual(expectedLedger(200, 5));
    });

    test('after a restart the fold continues with its committed rows', async () => {
      const first = await on.harness.open();
      await first.append(startedMany(50, 5));
      const done = first.process(ledger, ledgers, on.stop.signal);
      await untilLevel(first, 'ledgers');
      await first.close();
      await done;

      const second = await on.harness.open();
      expect(second.logId).toBe(first.logId);
      await second.append(startedMany(50, 5, 50));
      const doneAgain = second.process(ledger, ledgers, on.stop.signal);
      await untilLevel(second, 'ledgers');
      on.stop.abort();
      await doneAgain;
      expect(await readLedger(second)).toEqual(expectedLedger(100, 5));
    });

    test('two groups on one topic keep positions and rows of their own', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(20, 3));
      const done = [
        log.process(ledger, ledgers, on.stop.signal),
        log.process(echo, { group: 'echoes', settings: null }, on.stop.signal),
      ];
      await Promise.all([untilLevel(log, 'ledgers'), untilLevel(log, 'echoes')]);
      on.stop.abort();
      await Promise.all(done);
      const turns = (await readTopic(log, 'turns')).map(({ event }) => event);
      expect(turns.filter(({ source }) => source === 'clawloop/ledger').length).toBe(20);
      expect(turns.filter(({ source }) => source === 'clawloop/echo').length).toBe(17);
      expect(await log.lag('nobody')).toEqual([]);
    });

    test('a group belongs to the topic that it read first; another one is refused', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(5, 1));
      const done = log.process(ledger, ledgers, on.stop.signal);
      await untilLevel(log, 'ledgers');
      const other = await on.harness.open();
      await expect(
        other.process({ ...ledger, reads: 'turns', writes: 'training' }, ledgers, on.stop.signal),
      ).rejects.toMatchObject({
        name: 'LogMismatch',
        message: expect.stringContaining('reads conversations'),
      });
      on.stop.abort();
      await done;
    });

    test('the facts of each commit are reported after the commit', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(30, 4));
      const reported: string[] = [];
      const emitted = (events: readonly { readonly id: string }[]) =>
        reported.push(...events.map(({ id }) => id));
      const done = log.process(ledger, { ...ledgers, emitted }, on.stop.signal);
      await untilLevel(log, 'ledgers');
      on.stop.abort();
      await done;
      const written = (await readTopic(log, 'turns')).map(({ event }) => event.id);
      expect(reported.toSorted()).toEqual(written.toSorted());
      expect(reported).toHaveLength(30);
    });

    test('a deferred event is made from the record that it names', async () => {
      const log = await on.harness.open();
      await log.append([
        feedback('a', 'f0', 'four'),
        started('a', 1),
        feedback('a', 'f2', 'sixsix'),
        started('a', 3),
      ]);
      const done = log.process(echo, { group: 'echoes', settings: null }, on.stop.signal);
      await untilLevel(log, 'echoes');
      on.stop.abort();
      await done;
      const echoes = (await readTopic(log, 'turns')).map(
        ({ event }) => event.type === 'turn.skipped' && event.data,
      );
      expect(echoes).toMatchObject([
        { turnId: 'f0', rule: '4', by: 'a-1' },
        { turnId: 'a-1', rule: 'session.started', by: 'f2' },
        { turnId: 'f2', rule: '6', by: 'a-3' },
      ]);
    });
  });
}
