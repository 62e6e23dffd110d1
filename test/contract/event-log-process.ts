import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog, Recorded, SubjectView } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { rebuild } from '../../shared/log/rebuild.ts';
import type { LogHarness } from './event-log.ts';
import {
  echo,
  expectedLedger,
  feedback,
  ledger,
  readLedger,
  readTopic,
  started,
  startedMany,
  until,
  untilLevel,
} from './event-log-fixtures.ts';

/** What every EventLog keeps of folds, in one process. */
export function eventLogProcessContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  let harness: LogHarness;
  let stop: AbortController;
  beforeEach(async () => {
    harness = await makeHarness();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await harness.dispose();
  });

  const options = { group: 'ledgers', settings: { label: 'one' } };

  describe(`${name}: process`, () => {
    test('every event is folded once, in order, and duplicates are told by their id', async () => {
      const log = await harness.open();
      await log.append(startedMany(100, 5));
      await log.append(startedMany(10, 5));
      const done = log.process(ledger, options, stop.signal);
      await log.append(startedMany(100, 5, 100));
      await untilLevel(log, 'ledgers');
      await log.append(startedMany(10, 5, 95));
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
      expect(await readLedger(log)).toEqual(expectedLedger(200, 5));
    });

    test('after a restart the fold goes on over the rows that it had', async () => {
      const first = await harness.open();
      await first.append(startedMany(50, 5));
      const done = first.process(ledger, options, stop.signal);
      await untilLevel(first, 'ledgers');
      await first.close();
      await done;

      const second = await harness.open();
      expect(second.logId).toBe(first.logId);
      await second.append(startedMany(50, 5, 50));
      const doneAgain = second.process(ledger, options, stop.signal);
      await untilLevel(second, 'ledgers');
      stop.abort();
      await doneAgain;
      expect(await readLedger(second)).toEqual(expectedLedger(100, 5));
    });

    test('two groups on one topic keep positions and rows of their own', async () => {
      const log = await harness.open();
      await log.append(startedMany(20, 3));
      const done = [
        log.process(ledger, options, stop.signal),
        log.process(echo, { group: 'echoes', settings: null }, stop.signal),
      ];
      await Promise.all([untilLevel(log, 'ledgers'), untilLevel(log, 'echoes')]);
      stop.abort();
      await Promise.all(done);
      const turns = (await readTopic(log, 'turns')).map(({ event }) => event);
      expect(turns.filter(({ source }) => source === 'clawloop/ledger').length).toBe(20);
      expect(turns.filter(({ source }) => source === 'clawloop/echo').length).toBe(17);
      expect(await log.lag('nobody')).toEqual([]);
    });

    test('a group belongs to the topic that it read first; another one is refused', async () => {
      const log = await harness.open();
      await log.append(startedMany(5, 1));
      const done = log.process(ledger, options, stop.signal);
      await untilLevel(log, 'ledgers');
      const other = await harness.open();
      await expect(
        other.process({ ...ledger, reads: 'turns', writes: 'training' }, options, stop.signal),
      ).rejects.toMatchObject({
        name: 'LogMismatch',
        message: expect.stringContaining('reads conversations'),
      });
      stop.abort();
      await done;
    });

    test('the facts of each commit are told once it is made', async () => {
      const log = await harness.open();
      await log.append(startedMany(30, 4));
      const told: string[] = [];
      const emitted = (events: readonly { readonly id: string }[]) =>
        told.push(...events.map(({ id }) => id));
      const done = log.process(ledger, { ...options, emitted }, stop.signal);
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
      const written = (await readTopic(log, 'turns')).map(({ event }) => event.id);
      expect(told.toSorted()).toEqual(written.toSorted());
      expect(told).toHaveLength(30);
    });

    test('a deferred event is made from the record that it names', async () => {
      const log = await harness.open();
      await log.append([
        feedback('a', 'f0', 'four'),
        started('a', 1),
        feedback('a', 'f2', 'sixsix'),
        started('a', 3),
      ]);
      const done = log.process(echo, { group: 'echoes', settings: null }, stop.signal);
      await untilLevel(log, 'echoes');
      stop.abort();
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

    test('poison goes to dead-letters with its position and the fold goes on; unknown types are passed over', async () => {
      const log = await harness.open();
      await log.append([started('a', 0)]);
      await harness.inject('conversations', 'a', '{"no json');
      await harness.inject('conversations', 'a', JSON.stringify({ ...started('a', 1), data: { lane: 7 } }));
      const unknown = {
        ...started('a', 1),
        type: 'weather.changed',
        dataschema: 'clawloop:weather.changed:9',
      };
      await harness.inject('conversations', 'a', JSON.stringify(unknown));
      await log.append([started('a', 1)]);
      const done = log.process(ledger, options, stop.signal);
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
      expect(await readLedger(log)).toEqual({ a: ['a-0 1', 'a-1 2'] });
      const [first] = await readTopic(log, 'conversations');
      const letters = (await readTopic(log, 'dead-letters')).map(({ event }) => event);
      const { partition } = first!.at;
      expect(letters).toMatchObject([
        {
          id: `ledgers/conversations/${partition}/1/rejected`,
          subject: 'a',
          data: { at: { partition, offset: 1 }, body: '{"no json', group: 'ledgers' },
        },
        { id: `ledgers/conversations/${partition}/2/rejected` },
      ]);
      await expect(log.read('conversations', { partition, offset: 1 })).rejects.toSatisfy((error) =>
        isLogError(error, 'BrokenRecord'),
      );
    });

    test('a newer version of a known type stops its partition alone, and lag says so', async () => {
      const log = await harness.open();
      await log.append([started('a', 0)]);
      const newer = { ...started('a', 1), dataschema: 'clawloop:session.started:2' };
      await harness.inject('conversations', 'a', JSON.stringify(newer));
      await log.append([started('a', 2)]);
      const [{ at }] = (await readLane(log, 'a')) as [Recorded];
      const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);
      await log.append(others.map((lane) => started(lane, 0)));
      const done = log.process(ledger, options, stop.signal);
      await until(async () => {
        const lag = await log.lag('ledgers');
        return lag.length > 0 && lag.every((of) => of.partition === at.partition || of.position === of.end);
      });
      await until(async () => (await log.lag('ledgers'))[at.partition]?.stopped !== undefined);
      const stopped = (await log.lag('ledgers'))[at.partition]!;
      expect(stopped).toMatchObject({ position: 1 });
      expect(stopped.stopped).toContain('session.started version 2');
      const following = log.follow('conversations', {}, () => undefined, stop.signal);
      await expect(following.done).rejects.toSatisfy((error) => isLogError(error, 'NewerSchema'));
      await expect(following.caughtUp).rejects.toSatisfy((error) => isLogError(error, 'NewerSchema'));
      stop.abort();
      await done;
      expect((await readLedger(log)).a).toEqual(['a-0 1']);
    });

    test('a fold that throws, or writes another topic than it says, rejects and commits nothing of it', async () => {
      const log = await harness.open();
      await log.append([started('a', 0), started('a', 1)]);
      const throwing: Fold<{ readonly label: string }> = {
        ...ledger,
        on: (rows, event, at, settings) => {
          if (event.id === 'a-1') throw new Error('a bug');
          return ledger.on(rows, event, at, settings);
        },
      };
      await expect(log.process(throwing, options, stop.signal)).rejects.toThrow('a bug');
      const wrong: Fold<{ readonly label: string }> = { ...ledger, writes: 'training' };
      await expect(log.process(wrong, options, stop.signal)).rejects.toThrow('writes training');
      const done = log.process(ledger, options, stop.signal);
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
      expect(await readLedger(log)).toEqual({ a: ['a-0 1', 'a-1 2'] });
    });

    test('owed is told what a commit touched, all at take-over, and all again at each interval', async () => {
      const log = await harness.open();
      await log.append([started('a', 0), started('b', 0)]);
      let calls: string[][] = [];
      const owed = (views: readonly SubjectView[]) => {
        calls.push(views.map(({ subject, rows }) => `${subject} ${rows.get('count/n')}`));
      };
      const first = new AbortController();
      const done = log.process(ledger, { ...options, owed }, first.signal);
      await untilLevel(log, 'ledgers');
      first.abort();
      await done;
      expect(calls.flat().sort()).toEqual(['a 1', 'b 1']);

      calls = [];
      const again = log.process(ledger, { ...options, owed, owedIntervalMs: 200 }, stop.signal);
      await until(() => calls.flat().length >= 2);
      expect(calls.flat().slice(0, 2).sort()).toEqual(['a 1', 'b 1']);
      await log.append([started('a', 1)]);
      await until(() => calls.flat().includes('a 2'));
      calls = [];
      await until(() => calls.flat().includes('b 1') && calls.flat().includes('a 2'));
      stop.abort();
      await again;
    });

    test('partitions are shared out, and move at once when a member leaves', async () => {
      const sessionTimeoutMs = 8_000;
      const logs = [await harness.open({ sessionTimeoutMs }), await harness.open({ sessionTimeoutMs })];
      const stops = [new AbortController(), new AbortController()];
      const held: Set<number>[] = [new Set(), new Set()];
      const done = logs.map((log, member) =>
        log.process(
          ledger,
          {
            ...options,
            owed: (views) => views.forEach(({ partition }) => void held[member]!.add(partition)),
          },
          stops[member]!.signal,
        ),
      );
      const lanes = 12;
      let written = 0;
      // Goes on until both have worked: whoever comes first has all partitions for a moment.
      await until(async () => {
        for (const set of held) set.clear();
        await logs[0]!.append(startedMany(lanes, lanes, written));
        written += lanes;
        await untilLevel(logs[0]!, 'ledgers');
        return held[0]!.size >= 1 && held[1]!.size >= 1;
      });
      const left = performance.now();
      stops[0]!.abort();
      await done[0];
      await logs[1]!.append(startedMany(lanes, lanes, written));
      written += lanes;
      await untilLevel(logs[1]!, 'ledgers');
      expect(performance.now() - left).toBeLessThan(sessionTimeoutMs / 2);
      stops[1]!.abort();
      await done[1];
      expect(await readLedger(logs[1]!)).toEqual(expectedLedger(written, lanes));
    });

    test('a rebuild from zero makes the same rows and facts, each stretch under its settings', async () => {
      let written = 0;
      for (const label of ['one', 'two', 'three']) {
        const log = await harness.open();
        const rounds = new AbortController();
        await log.append(startedMany(30, 4, written));
        written += 30;
        const done = log.process(ledger, { ...options, settings: { label } }, rounds.signal);
        await untilLevel(log, 'ledgers');
        rounds.abort();
        await done;
      }
      const log = await harness.open();
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

    test('waiting costs next to nothing', async () => {
      const log = await harness.open();
      await log.append(startedMany(10, 3));
      const done = log.process(ledger, options, stop.signal);
      const following = log.follow('turns', {}, () => undefined, stop.signal);
      await untilLevel(log, 'ledgers');
      await following.reachEnd();
      const before = process.cpuUsage();
      const from = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      const { user, system } = process.cpuUsage(before);
      // µs of CPU per µs; a loop that asks all the time would take a whole core.
      expect((user + system) / (1_000 * (performance.now() - from))).toBeLessThan(0.2);
      stop.abort();
      await done;
    });
  });

  async function readLane(log: EventLog, lane: string): Promise<Recorded[]> {
    const found: Recorded[] = [];
    const enough = new AbortController();
    const following = log.follow(
      'conversations',
      {},
      (record) => void (record.event.subject === lane && found.push(record)),
      enough.signal,
    );
    await Promise.allSettled([Promise.race([following.caughtUp, following.done])]);
    enough.abort();
    return found;
  }

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
    const done = log.process(ledger, { ...options, owed }, enough.signal);
    await until(() => partitions.size === nonEmpty);
    enough.abort();
    await done;
    return rows;
  }
}
