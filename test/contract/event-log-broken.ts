import { describe, expect, test } from 'vitest';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog, NewerRecord, Recorded } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import {
  echo,
  ledger,
  ledgers,
  readLedger,
  readTopic,
  started,
  until,
  untilLevel,
} from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** What every EventLog does with records that cannot be read, and with folds that fail. */
export function eventLogBrokenContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: broken records and folds`, () => {
    const on = logForEach(makeHarness);

    test('an unreadable record goes to dead-letters with its position, and the fold continues; unknown types are skipped', async () => {
      const log = await on.harness.open();
      await log.append([started('a', 0)]);
      await on.harness.inject('conversations', 'a', '{"no json');
      await on.harness.inject(
        'conversations',
        'a',
        JSON.stringify({ ...started('a', 1), data: { lane: 7 } }),
      );
      const unknown = {
        ...started('a', 1),
        type: 'weather.changed',
        dataschema: 'clawloop:weather.changed:9',
      };
      await on.harness.inject('conversations', 'a', JSON.stringify(unknown));
      await log.append([started('a', 1)]);
      const done = log.process(ledger, ledgers, on.stop.signal);
      await untilLevel(log, 'ledgers');
      on.stop.abort();
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

    test('a fact whose record is lost gets an outcome with that reason, and the fold continues', async () => {
      const before = await on.harness.open();
      await before.append([started('a', 0)]);
      await fold(before, echo, 'echoes');
      const [{ at }] = (await readTopic(before, 'conversations')) as [Recorded];
      await on.harness.lose('conversations', at);
      const log = await on.harness.open(); // the first handle may have cached the record
      await log.append([started('a', 1), started('a', 2)]);
      await fold(log, echo, 'echoes');
      const echoes = (await readTopic(log, 'turns')).map(({ event }) => event);
      expect(echoes).toMatchObject([
        { id: 'a-1/echo', data: { turnId: 'a-0', reason: 'record-gone' } },
        { id: 'a-2/echo', data: { turnId: 'a-1', reason: 'side' } },
      ]);
    });

    test('a newer version of a known type stops only its partition, and lag reports it', async () => {
      const log = await on.harness.open();
      await log.append([started('a', 0)]);
      const next = SessionStarted.version + 1;
      const newer = { ...started('a', 1), dataschema: `clawloop:session.started:${next}` };
      await on.harness.inject('conversations', 'a', JSON.stringify(newer));
      await log.append([started('a', 2)]);
      const [{ at }] = (await readLane(log, 'a')) as [Recorded];
      const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);
      await log.append(others.map((lane) => started(lane, 0)));
      const done = log.process(ledger, ledgers, on.stop.signal);
      await until(async () => {
        const lag = await log.lag('ledgers');
        return lag.length > 0 && lag.every((of) => of.partition === at.partition || of.position === of.end);
      });
      await until(async () => (await log.lag('ledgers'))[at.partition]?.stopped !== undefined);
      const stopped = (await log.lag('ledgers'))[at.partition]!;
      expect(stopped).toMatchObject({ position: 1 });
      expect(stopped.stopped).toContain(`session.started version ${next}`);
      const following = log.follow('conversations', {}, () => undefined, { signal: on.stop.signal });
      await expect(following.done).rejects.toSatisfy((error) => isLogError(error, 'NewerSchema'));
      await expect(following.caughtUp).rejects.toSatisfy((error) => isLogError(error, 'NewerSchema'));
      on.stop.abort();
      await done;
      expect((await readLedger(log)).a).toEqual(['a-0 1']);
    });

    test('a reader that asks to be told of newer records stops only their partitions, before them', async () => {
      const log = await on.harness.open();
      const version = SessionStarted.version + 1;
      const newer = (lane: string, n: number) => ({
        ...started(lane, n),
        dataschema: `clawloop:session.started:${version}`,
      });
      await log.append([started('a', 0), newer('a', 1), started('a', 2)]);
      const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);
      await log.append(others.map((lane) => started(lane, 0)));
      const [{ at }] = (await readLane(log, 'a')) as [Recorded];
      const stopsAt = { partition: at.partition, offset: at.offset + 1 };
      const readers = [undefined, () => true, new Set([SessionStarted.type])].map((wants) => {
        const seen: string[] = [];
        const stops: NewerRecord[] = [];
        const following = log.follow('conversations', {}, ({ event }) => void seen.push(event.id), {
          signal: on.stop.signal,
          wants,
          onNewer: (record) => void stops.push(record),
        });
        return { seen, stops, following };
      });
      for (const { seen, stops, following } of readers) {
        await following.caughtUp;
        expect(stops).toMatchObject([{ topic: 'conversations', at: stopsAt, version, known: version - 1 }]);
        expect(stops[0]!.reason).toContain(`session.started version ${version}`);
        expect(seen).toContain('a-0');
        expect(seen).not.toContain('a-2');
        expect(following.position()[at.partition]).toBe(stopsAt.offset);
      }
      const elsewhere = await lanesElsewhere(log, at.partition);
      expect(elsewhere.length).toBeGreaterThan(0);
      await log.append(elsewhere.map((lane) => started(lane, 1)));
      for (const { seen, stops, following } of readers) {
        await following.reachEnd();
        for (const lane of elsewhere) expect(seen).toContain(`${lane}-1`);
        expect(stops).toHaveLength(1);
      }
      await log.append(elsewhere.map((lane) => newer(lane, 2)));
      for (const { stops, following } of readers) {
        await until(async () => stops.length === 3);
        await following.reachEnd(); // also when no partition is left
      }
    });

    test('a fold that throws, or writes a topic that it did not declare, rejects and commits nothing', async () => {
      const log = await on.harness.open();
      await log.append([started('a', 0), started('a', 1)]);
      const throwing: Fold<{ readonly label: string }> = {
        ...ledger,
        on: (rows, event, at, settings) => {
          if (event.id === 'a-1') throw new Error('a bug');
          return ledger.on(rows, event, at, settings);
        },
      };
      await expect(log.process(throwing, ledgers, on.stop.signal)).rejects.toThrow('a bug');
      const wrong: Fold<{ readonly label: string }> = { ...ledger, writes: 'training' };
      await expect(log.process(wrong, ledgers, on.stop.signal)).rejects.toThrow('writes training');
      const done = log.process(ledger, ledgers, on.stop.signal);
      await untilLevel(log, 'ledgers');
      on.stop.abort();
      await done;
      expect(await readLedger(log)).toEqual({ a: ['a-0 1', 'a-1 2'] });
    });
  });
}

async function fold(log: EventLog, by: Fold<null>, group: string): Promise<void> {
  const stop = new AbortController();
  const done = log.process(by, { group, settings: null }, stop.signal);
  await Promise.race([untilLevel(log, group), done]);
  stop.abort();
  await done;
}

/** A lane of each other partition. */
async function lanesElsewhere(log: EventLog, partition: number): Promise<readonly string[]> {
  const lanes = new Map<number, string>();
  const enough = new AbortController();
  const following = log.follow(
    'conversations',
    {},
    ({ event, at }) => void lanes.set(at.partition, event.subject),
    { signal: enough.signal, onNewer: () => {} },
  );
  await following.caughtUp;
  enough.abort();
  await following.done;
  lanes.delete(partition);
  return [...lanes.values()];
}

async function readLane(log: EventLog, lane: string): Promise<Recorded[]> {
  const found: Recorded[] = [];
  const enough = new AbortController();
  const following = log.follow(
    'conversations',
    {},
    (record) => void (record.event.subject === lane && found.push(record)),
    { signal: enough.signal },
  );
  await Promise.allSettled([Promise.race([following.caughtUp, following.done])]);
  enough.abort();
  return found;
}
