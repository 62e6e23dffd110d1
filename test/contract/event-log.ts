import { describe, expect, test } from 'vitest';
import { isLogError } from '../../shared/log/errors.ts';
import type { Offsets, Recorded } from '../../shared/log/event-log.ts';
import { eventLogBrokenContract } from './event-log-broken.ts';
import { echo, feedback, readTopic, started, startedMany, untilLevel } from './event-log-fixtures.ts';
import { eventLogMembersContract } from './event-log-members.ts';
import { eventLogProcessContract } from './event-log-process.ts';
import { eventLogRebuildContract } from './event-log-rebuild.ts';
import { eventLogRowVersionsContract } from './event-log-row-versions.ts';
import { eventLogSnapshotsContract } from './event-log-snapshots.ts';
import { eventLogTrimContract } from './event-log-trim.ts';
import { eventLogVerifyContract } from './event-log-verify.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/**
 * What every EventLog guarantees in one process: records here, folds in the files that it calls. Guarantees across
 * several processes are in event-log-crashes.ts.
 */
export function eventLogContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: append, follow, read`, () => {
    const on = logForEach(makeHarness);

    test('records of a subject are read in the order in which they were appended, and offsets rise strictly', async () => {
      const log = await on.harness.open();
      const events = startedMany(60, 7);
      for (let i = 0; i < 60; i += 5) await log.append(events.slice(i, i + 5));
      const records = await readTopic(log, 'conversations');
      for (const subject of new Set(events.map((event) => event.subject))) {
        const of = (list: readonly { readonly id: string; readonly subject: string }[]) =>
          list.filter((event) => event.subject === subject).map(({ id }) => id);
        expect(of(records.map(({ event }) => event))).toEqual(of(events));
        expect(
          new Set(records.filter(({ event }) => event.subject === subject).map(({ at }) => at.partition))
            .size,
        ).toBe(1);
      }
      const ends = await log.ends('conversations');
      for (const [partition, end] of ends.entries()) {
        const offsets = records.filter(({ at }) => at.partition === partition).map(({ at }) => at.offset);
        expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b));
        expect(offsets.every((offset) => offset < end)).toBe(true);
        if (on.harness.hasDenseOffsets) expect(offsets).toEqual(Array.from({ length: end }, (_, n) => n));
      }
    });

    test('events are read back unchanged, and each is found by its position', async () => {
      const log = await on.harness.open();
      const event = feedback('lane', 'f', 'Grüße, "quoted" \u0000 \u{1F40C}\n');
      await log.append([event, { ...started('lane', 0), traceparent: '00-a-b-01' }]);
      const records = await readTopic(log, 'conversations');
      expect(records[0]!.event).toEqual(event);
      for (const { event: read, at } of records) expect(await log.read('conversations', at)).toEqual(read);
      const beyond = { ...records[1]!.at, offset: 2 };
      await expect(log.read('conversations', beyond)).rejects.toSatisfy((error) =>
        isLogError(error, 'RecordGone'),
      );
      await expect(log.read('turns', records[0]!.at)).rejects.toSatisfy((error) =>
        isLogError(error, 'RecordGone'),
      );
    });

    test('a follower starts at the given position, and reachEnd waits for all events appended before its call', async () => {
      const log = await on.harness.open();
      await log.append([started('a', 0), started('a', 1), started('a', 2)]);
      const [{ at }] = (await readTopic(log, 'conversations')) as [Recorded];
      const seen: string[] = [];
      const following = log.follow(
        'conversations',
        { [at.partition]: 1 },
        ({ event }) => void seen.push(event.id),
        { signal: on.stop.signal },
      );
      await following.caughtUp;
      expect(seen).toEqual(['a-1', 'a-2']);
      const other = await on.harness.open();
      for (let n = 3; n < 30; n += 1) {
        await other.append([started('a', n)]);
        await following.reachEnd();
        expect(seen.at(-1)).toBe(`a-${n}`);
      }
      on.stop.abort();
      await following.done;
      await log.append([started('a', 30)]);
      expect(seen.at(-1)).toBe('a-29');
    });

    test('a follower of some types gets no others, and another one goes on at its position', async () => {
      const log = await on.harness.open();
      const read = async (from: Offsets) => {
        const ids: string[] = [];
        const stop = new AbortController();
        const onRecord = ({ event }: Recorded) => void ids.push(event.id);
        const types = new Set(['feedback.given']);
        const following = log.follow('conversations', from, onRecord, { signal: stop.signal, wants: types });
        await following.caughtUp;
        stop.abort();
        return { ids, from: Object.fromEntries(following.position().entries()) };
      };
      await log.append([
        started('a', 0),
        feedback('a', 'f', 'short'),
        feedback('a', 'g', 'x'.repeat(20_000)),
      ]);
      await on.harness.inject('conversations', 'b', 'no event at all');
      await log.append([started('a', 1), started('b', 0)]);
      const first = await read({});
      expect(first.ids).toEqual(['f', 'g']);
      await log.append([
        ...startedMany(1_200, 3, 2),
        feedback('a', 'h', 'short'),
        feedback('b', 'i', 'short'),
      ]);
      expect([...(await read(first.from)).ids].sort()).toEqual(['h', 'i']);
      expect([...(await read({})).ids].sort()).toEqual(['f', 'g', 'h', 'i']);
    });

    test('an empty topic is caught up at once; an aborted follower settles every promise', async () => {
      const log = await on.harness.open();
      const following = log.follow('training', {}, () => undefined, { signal: on.stop.signal });
      await following.caughtUp;
      on.stop.abort();
      await following.done;
      await expect(following.reachEnd()).rejects.toBeDefined();
    });

    test('a follower chooses records by their headings, in order; the records that it leaves out need not even parse', async () => {
      const log = await on.harness.open();
      const [medium, long] = [2_000, 20_000].map((length) =>
        feedback('a', `of-${length}`, 'x'.repeat(length)),
      );
      await log.append([started('a', 0), feedback('a', 'f', 'short'), medium!, long!]);
      await log.append([feedback('b', 'g', 'short')]);
      await on.harness.inject('conversations', 'a', 'no event at all');
      await log.append([started('a', 1), feedback('a', 'h', 'short')]);
      const received: string[] = [];
      const following = log.follow('conversations', {}, ({ event }) => void received.push(event.id), {
        signal: on.stop.signal,
        wants: ({ type, subject }) => {
          if (subject === 'a') received.push(`${type}?`);
          return subject === 'a' && type === 'feedback.given';
        },
      });
      await following.caughtUp;
      const wanted = (id: string) => ['feedback.given?', id];
      expect(received).toEqual([
        'session.started?',
        ...wanted('f'),
        ...wanted('of-2000'),
        ...wanted('of-20000'),
        '?',
        'session.started?',
        ...wanted('h'),
      ]);
      await log.append([feedback('a', 'later', 'short')]);
      await following.reachEnd();
      expect(received.slice(-2)).toEqual(wanted('later'));
    });

    test('an append through another handle wakes a follower without polling', async () => {
      // With such a long session timeout, SQLite polls only once a second.
      const patient = { sessionTimeoutMs: 60_000 };
      const [writer, reader] = [await on.harness.open(patient), await on.harness.open(patient)];
      let arrived = Promise.withResolvers<void>();
      const following = reader.follow('conversations', {}, () => arrived.resolve(), {
        signal: on.stop.signal,
      });
      await following.caughtUp;
      const times: number[] = [];
      // A busy machine may delay some events, but not all. A follower that only polls is late at all but the first.
      for (let n = 0; n < 5; n += 1) {
        arrived = Promise.withResolvers<void>();
        const sentAt = performance.now();
        await writer.append([started('a', n)]);
        await arrived.promise;
        times.push(performance.now() - sentAt);
      }
      expect(Math.min(...times.slice(1))).toBeLessThan(700);
    });

    test('several writers at once: nothing is lost, and each sees its own order', async () => {
      const logs = await Promise.all([on.harness.open(), on.harness.open(), on.harness.open()]);
      await Promise.all(
        logs.map(async (log, writer) => {
          for (let n = 0; n < 40; n += 1)
            await log.append([started(`w${writer}`, n), started('shared', writer * 40 + n)]);
        }),
      );
      const records = await readTopic(logs[0]!, 'conversations');
      for (const writer of [0, 1, 2]) {
        const own = records
          .filter(({ event }) => event.subject === `w${writer}`)
          .map(({ event }) => event.id);
        expect(own).toEqual(Array.from({ length: 40 }, (_, n) => `w${writer}-${n}`));
      }
      expect(
        new Set(records.filter(({ event }) => event.subject === 'shared').map(({ event }) => event.id)).size,
      ).toBe(120);
      expect(records.length).toBe(240);
    });

    test('a 5 MB event goes the whole way', async () => {
      const log = await on.harness.open();
      const random = Array.from({ length: 5 * 2 ** 20 }, (_, i) =>
        String.fromCharCode(33 + ((i * i * 7919) % 89)),
      ).join('');
      await log.append([feedback('big', 'f', random), started('big', 0)]);
      const [record] = (await readTopic(log, 'conversations')) as [Recorded];
      expect(record.event).toEqual(feedback('big', 'f', random));
      const done = log.process(echo, { group: 'echoes', settings: null }, on.stop.signal);
      await untilLevel(log, 'echoes');
      const [echoed] = (await readTopic(log, 'turns')) as [Recorded];
      expect(echoed.event).toMatchObject({
        id: 'big-0/echo',
        data: { turnId: 'f', rule: String(5 * 2 ** 20) },
      });
      on.stop.abort();
      await done;
    });

    test('an event above the limit is refused whole; a closed log is not available', async () => {
      const log = await on.harness.open();
      const large = feedback('a', 'f', 'x'.repeat(17 * 2 ** 20));
      await expect(log.append([started('a', 0), large])).rejects.toSatisfy((error) =>
        isLogError(error, 'RecordTooLarge'),
      );
      expect(await readTopic(log, 'conversations')).toEqual([]);
      await log.close();
      await expect(log.append([started('a', 0)])).rejects.toSatisfy((error) =>
        isLogError(error, 'LogUnavailable'),
      );
    });
  });

  eventLogProcessContract(name, makeHarness);
  eventLogBrokenContract(name, makeHarness);
  eventLogMembersContract(name, makeHarness);
  eventLogRebuildContract(name, makeHarness);
  eventLogRowVersionsContract(name, makeHarness);
  eventLogVerifyContract(name, makeHarness);
  eventLogTrimContract(name, makeHarness);
  eventLogSnapshotsContract(name, makeHarness);
}
