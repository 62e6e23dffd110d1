import { describe, expect, test } from 'vitest';
import type { ChainHead } from '../../shared/log/chain.ts';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { ledger, ledgers, readTopic, startedMany, untilLevel } from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** How every EventLog removes its oldest records. */
export function eventLogTrimContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: trim`, () => {
    const on = logForEach(makeHarness);
    const topic = 'conversations';

    const fold = async (log: EventLog): Promise<void> => {
      const stop = new AbortController();
      const done = log.process(ledger, ledgers, stop.signal);
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
    };
    const filled = async (): Promise<EventLog> => {
      const log = await on.harness.open();
      for (let n = 0; n < 60; n += 6) await log.append(startedMany(6, 5, n));
      return log;
    };
    /** Cuts each partition near its middle. */
    const cutInHalf = async (log: EventLog): Promise<readonly ChainHead[]> => {
      const heads: ChainHead[] = [];
      const starts = await log.starts(topic);
      const ends = await log.ends(topic);
      for (const [partition, end] of ends.entries()) {
        const middle = (starts[partition]! + end) / 2;
        const { places } = await log.retention.outline(topic, partition);
        const place = places.findLast(({ offset }) => offset <= middle);
        if (place === undefined) continue;
        const at = { partition, offset: place.offset };
        heads.push(await log.retention.chainAt(topic, at));
        await log.retention.cut(topic, at);
      }
      return heads;
    };

    test('the outline names places in order, and a record follows the last', async () => {
      const log = await filled();
      const ends = await log.ends(topic);
      for (const [partition, end] of ends.entries()) {
        const { places, bytes } = await log.retention.outline(topic, partition);
        expect(places.length).toBeGreaterThan(0);
        expect(places.map(({ offset }) => offset)).toEqual(
          [...new Set(places.map(({ offset }) => offset))].sort((a, b) => a - b),
        );
        expect(places.at(-1)!.offset).toBeLessThan(end);
        expect(places.at(-1)!.bytes).toBeLessThan(bytes);
      }
    });

    test('the records before the cut are gone, the others and the ends stay', async () => {
      const log = await filled();
      await fold(log);
      const before = await readTopic(log, topic);
      const ends = await log.ends(topic);
      const heads = await cutInHalf(log);
      expect(heads.length).toBeGreaterThan(1);
      for (const reader of [log, await on.harness.open()]) {
        const starts = await reader.starts(topic);
        for (const { partition, to } of heads) expect(starts[partition]).toBe(to);
        expect(await reader.ends(topic)).toEqual(ends);
        const kept = before.filter(({ at }) => at.offset >= starts[at.partition]!);
        const byPlace = (records: typeof kept) =>
          records
            .map(({ at, event }) => `${at.partition}/${at.offset} ${event.id}`)
            .sort((a, b) => a.localeCompare(b));
        expect(byPlace(await readTopic(reader, topic))).toEqual(byPlace(kept));
        if (reader === log) continue; // it may have the record in memory
        const [gone] = before.filter(({ at }) => at.offset < starts[at.partition]!);
        await expect(reader.read(topic, gone!.at)).rejects.toSatisfy((error) =>
          isLogError(error, 'RecordGone'),
        );
      }
    });

    test('the chain goes on from a recorded trim, and a trim that nobody recorded is a break', async () => {
      const log = await filled();
      await fold(log);
      const noted = await log.verify(topic);
      const first = await cutInHalf(log);
      await log.append(startedMany(12, 5, 60));
      await fold(log);
      const intended: ChainHead = { ...first[0]!, to: first[0]!.to + 1 };
      for (const { broken } of await log.verify(topic, noted, [...first, intended]))
        expect(broken).toBeUndefined();
      const untold = await log.verify(topic, noted);
      for (const { partition } of first)
        expect(untold.find((one) => one.partition === partition)!.broken!.why).toContain('no trim');
      const forged = first.map((head) => ({ ...head, head: 'f'.repeat(64) }));
      for (const { partition } of first) {
        const chains = await log.verify(topic, noted, forged);
        expect(chains.find((one) => one.partition === partition)!.broken).toBeDefined();
      }
      const ends = await log.ends(topic);
      for (const [partition, { to }] of (await log.verify(topic, noted, first)).entries())
        expect(to).toBe(ends[partition]);
    });

    test('a second trim goes on from the first', async () => {
      const log = await filled();
      await fold(log);
      const noted = await log.verify(topic);
      const first = await cutInHalf(log);
      const second: ChainHead[] = [];
      for (const last of first) {
        const { places } = await log.retention.outline(topic, last.partition);
        const place = places.at(-1);
        if (place === undefined) continue;
        const at = { partition: last.partition, offset: place.offset };
        second.push(await log.retention.chainAt(topic, at, last));
        await log.retention.cut(topic, at);
      }
      expect(second.length).toBeGreaterThan(0);
      for (const { broken } of await log.verify(topic, noted, [...first, ...second]))
        expect(broken).toBeUndefined();
    });

    test('what a group has not read is not removed', async () => {
      const log = await filled();
      await fold(log);
      await log.append(startedMany(24, 5, 60));
      const readers = await log.retention.readers(topic);
      expect(readers.map(({ group }) => group)).toContain('ledgers');
      const starts = await log.starts(topic);
      for (const { partition, position } of readers) {
        const { places } = await log.retention.outline(topic, partition);
        const unread = places.find(({ offset }) => offset > position);
        if (unread === undefined) continue;
        await expect(log.retention.cut(topic, { partition, offset: unread.offset })).rejects.toThrow(
          /ledgers has read up to/,
        );
      }
      expect(await log.starts(topic)).toEqual(starts);
    });

    test('a fold goes on beside a trim', async () => {
      const log = await filled();
      await fold(log);
      await cutInHalf(log);
      await log.append(startedMany(6, 5, 60));
      await fold(log);
      const lags = await log.lag('ledgers');
      expect(lags.map(({ position }) => position)).toEqual(lags.map(({ end }) => end));
    });
  });
}
