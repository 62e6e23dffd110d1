import { describe, expect, test } from 'vitest';
import { topics } from '../../shared/events/define-event.ts';
import type { ChainHead } from '../../shared/log/chain.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { ledger, ledgers, readTopic, startedMany, untilLevel } from './event-log-fixtures.ts';
import { type LogHarness, logForEach } from './log-harness.ts';

/** What every EventLog can prove about its records. */
export function eventLogVerifyContract(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`${name}: verify`, () => {
    const on = logForEach(makeHarness);

    const filled = async (): Promise<EventLog> => {
      const log = await on.harness.open();
      for (let n = 0; n < 40; n += 8) await log.append(startedMany(8, 5, n));
      await log.append(startedMany(1, 5, 40));
      const stop = new AbortController();
      const done = log.process(ledger, ledgers, stop.signal);
      await untilLevel(log, 'ledgers');
      stop.abort();
      await done;
      return log;
    };
    const allHeads = async (log: EventLog): Promise<readonly ChainHead[]> =>
      (await Promise.all(topics.map((topic) => log.verify(topic)))).flat();

    test('an untouched log is whole, each record counts, and what is appended changes the head', async () => {
      const log = await filled();
      for (const topic of topics) {
        const chains = await log.verify(topic);
        const ends = await log.ends(topic);
        const records = await readTopic(log, topic);
        for (const [partition, chain] of chains.entries()) {
          const count = records.filter(({ at }) => at.partition === partition).length;
          expect(chain).toMatchObject({ topic, partition, from: 0, to: ends[partition], records: count });
          expect(chain.broken).toBeUndefined();
          expect(chain.head).toMatch(count === 0 ? /^$/ : /^[0-9a-f]{64}$/);
        }
      }
      const before = await log.verify('conversations');
      expect(await log.verify('conversations')).toEqual(before);
      await log.append(startedMany(5, 5, 41));
      const after = await log.verify('conversations');
      for (const [partition, { head, records }] of after.entries())
        expect(head === before[partition]!.head).toBe(records === before[partition]!.records);
    });

    test('heads that were noted still hold after more was appended, and another head does not', async () => {
      const log = await filled();
      const noted = await allHeads(log);
      await log.append(startedMany(9, 5, 41));
      for (const topic of topics)
        for (const { broken } of await log.verify(topic, noted)) expect(broken).toBeUndefined();
      const other = noted.map((one) =>
        one.topic === 'turns' && one.to > 0 ? { ...one, head: 'f'.repeat(64) } : one,
      );
      const found = (await log.verify('turns', other)).filter(({ to }) => to > 0);
      expect(found.length).toBeGreaterThan(0);
      for (const { broken, from, to } of found)
        expect(broken).toMatchObject({ from, to, why: expect.stringContaining('noted') });
    });

    test('a log that is shorter than the heads that were noted is broken', async () => {
      const noted = await allHeads(await filled());
      const longer = noted.map((one) => ({ ...one, to: one.to + 3 }));
      const chains = await (await on.harness.open()).verify('conversations', longer);
      for (const { broken } of chains) expect(broken?.why).toContain('noted');
    });
  });
}
