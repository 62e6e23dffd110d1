import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { KafkaNode } from '../../infra/kafka/start-kafka.ts';
import { Partitioners } from '../../shared/log/kafka/kafkajs.ts';
import { recordOfEvent } from '../../shared/log/kafka/messages.ts';
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
  until,
  untilLevel,
} from './event-log-fixtures.ts';
import { kafkaHarness } from './kafka-event-log-harness.ts';
import { logForEach } from './log-harness.ts';

const lanes = 9;

/** Faults that only a broker can cause: it dies, and leaves transactions open. */
export function kafkaFaults(node: () => KafkaNode): void {
  describe('Kafka log: a broker that is killed, and open transactions', () => {
    const on = logForEach(() => kafkaHarness(node()));

    /** A producer as the owner of an input partition has it, in the middle of a transaction on `turns`. */
    const openTransaction = async (transactionalId: string, timeoutMs: number, lane: string) => {
      const producer = on.harness.at.kafka.producer({
        transactionalId,
        idempotent: true,
        maxInFlightRequests: 1,
        transactionTimeout: timeoutMs,
        createPartitioner: Partitioners.DefaultPartitioner,
      });
      await producer.connect();
      const transaction = await producer.transaction();
      const { message } = recordOfEvent(on.harness.at, started(lane, 0), 3);
      const messages = [message];
      await transaction.send({ topic: on.harness.at.topicName('turns'), messages });
      return { producer, transaction };
    };

    test('when a broker is killed repeatedly during transactions, nothing is lost and nothing counts twice', async () => {
      const log = await on.harness.open();
      const child = on.member();
      await child.said('open');
      const done = log.process(ledger, ledgers, on.stop.signal);
      let written = 0;
      for (let round = 0; round < 3; round += 1) {
        await log.append(startedMany(300, lanes, written));
        written += 300;
        // Both members fold: some transaction is under way.
        const down = node().kill();
        const appending = log.append(startedMany(300, lanes, written));
        written += 300;
        await down;
        await node().restart();
        await appending;
      }
      await untilLevel(log, 'ledgers', 60_000);
      on.stop.abort();
      await done;
      expect(await readLedger(log)).toEqual(expectedLedger(written, lanes));
    });

    test('a transaction that a dead owner left open is ended by the next owner, and never seen', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(90, lanes));
      const orphans = await Promise.all(
        [0, 1, 2].map((partition) =>
          openTransaction(
            on.harness.at.transactionalId('ledgers', 'conversations', partition),
            60_000,
            `x${partition}`,
          ),
        ),
      );
      await Promise.all(orphans.map(({ producer }) => producer.disconnect()));
      const from = performance.now();
      const done = log.process(ledger, ledgers, on.stop.signal);
      await untilLevel(log, 'ledgers');
      expect(await readLedger(log)).toEqual(expectedLedger(90, lanes));
      // Not the 60 s after which the broker would have ended it.
      expect(performance.now() - from).toBeLessThan(20_000);
      on.stop.abort();
      await done;
      expect((await readTopic(log, 'turns')).every(({ event }) => event.type === 'turn.skipped')).toBe(true);
    });

    test("another producer's open transaction hides later records until it times out", async () => {
      const log = await on.harness.open();
      const { producer } = await openTransaction('tx-of-someone-else', 2_000, 'lane-0');
      await producer.disconnect();
      await log.append(startedMany(90, lanes));
      const done = log.process(ledger, ledgers, on.stop.signal);
      await untilLevel(log, 'ledgers');
      // Reading to the end waits for the hidden records and misses none.
      expect(await readLedger(log)).toEqual(expectedLedger(90, lanes));
      on.stop.abort();
      await done;
    });

    test('an owner that lost its partition can commit nothing, and its records stay invisible', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(30, lanes));
      const zombie = await openTransaction(
        on.harness.at.transactionalId('ledgers', 'conversations', 0),
        30_000,
        'zombie',
      );
      const done = log.process(ledger, ledgers, on.stop.signal);
      await untilLevel(log, 'ledgers');
      await expect(zombie.transaction.commit()).rejects.toMatchObject({ type: 'INVALID_PRODUCER_EPOCH' });
      await zombie.producer.disconnect();
      on.stop.abort();
      await done;
      expect(await readLedger(log)).toEqual(expectedLedger(30, lanes));
      const subjects = (await readTopic(log, 'turns')).map(({ event }) => event.subject);
      expect(subjects).not.toContain('zombie');
    });

    test('a group whose offsets the broker has forgotten continues at the position of its rows', async () => {
      const log = await on.harness.open();
      const admin = on.harness.at.kafka.admin();
      await admin.connect();
      for (const from of [0, 90]) {
        await log.append(startedMany(90, lanes, from));
        const folding = new AbortController();
        const done = log.process(echo, { group: 'echoes', settings: null }, folding.signal);
        await until(async () => (await readTopic(log, 'turns')).length >= from + 90 - lanes);
        await untilLevel(log, 'echoes');
        folding.abort();
        await done;
        await admin.deleteGroups([on.harness.at.groupId('echoes')]);
      }
      await admin.disconnect();
      const emitted = (await readTopic(log, 'turns')).map(({ event }) => event.id);
      expect(emitted).toHaveLength(180 - lanes);
      expect(new Set(emitted).size).toBe(180 - lanes);
    });

    test('records after one that is too large for its topic are kept', async () => {
      const log = await on.harness.open();
      const admin = on.harness.at.kafka.admin();
      await admin.connect();
      const value = '2000';
      const configEntries = [{ name: 'max.message.bytes', value }];
      const name = on.harness.at.topicName('conversations');
      await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name, configEntries }] });
      await admin.disconnect();
      // one small event per lane, so of every partition; then one that is too large for its own
      const noise = randomBytes(20_000).toString('base64');
      // The broker learns its new limit a moment after the controller accepts it.
      let tries = 0;
      await until(() =>
        log.append([feedback('lane-0', `limit-${tries++}`, noise)]).then(
          () => false,
          ({ name: why }: Error) => why === 'RecordTooLarge',
        ),
      );
      const mixed = [...startedMany(lanes, lanes), feedback('lane-0', 'large', noise)];
      await expect(log.append(mixed)).rejects.toMatchObject({ name: 'RecordTooLarge' });
      const later = startedMany(lanes, lanes, lanes);
      await log.append(later);
      const ids = (await readTopic(log, 'conversations')).map(({ event }) => event.id);
      for (const { id } of later) expect(ids).toContain(id);
    });

    test('an append while the broker is down succeeds when it is back, or reports that it failed', async () => {
      const log = await on.harness.open();
      const hasty = await on.harness.open({ deliveryTimeoutMs: 500 });
      await log.append([started('a', 0)]);
      await node().kill();
      await expect(hasty.append([started('b', 0)])).rejects.toMatchObject({ name: 'LogUnavailable' });
      const seen: string[] = [];
      const following = log.follow('conversations', {}, ({ event }) => void seen.push(event.id), {
        signal: on.stop.signal,
      });
      const appending = Promise.all([1, 2, 3].map((n) => log.append([started('a', n)])));
      await node().restart();
      await appending;
      // On a busy machine its connection may take longer than the half second that it has.
      const isHeard = () =>
        hasty.append([started('b', 1)]).then(
          () => true,
          () => false,
        );
      await until(isHeard);
      await following.reachEnd();
      expect(seen.filter((id) => id.startsWith('a-'))).toEqual(['a-0', 'a-1', 'a-2', 'a-3']);
      expect(seen).toContain('b-1');
      on.stop.abort();
      await following.done;
    });
  });
}
