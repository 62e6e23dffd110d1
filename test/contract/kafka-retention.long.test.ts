import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { ledger, ledgers, readTopic, started } from './event-log-fixtures.ts';
import { describeWithKafka } from './kafka-node.ts';

describeWithKafka('topics of Kafka that existed before', (node) => {
  let stop: AbortController;
  beforeEach(() => {
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  const make = async (topic: string, settings: Readonly<Record<string, string>>) => {
    const admin = connectTo({ brokers: node().brokers }).kafka.admin();
    await admin.connect();
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 1, configEntries }] });
    await admin.disconnect();
  };

  test.each([
    ['time', 'a.', {}, 'retention.ms=604800000'],
    ['size', 'b.', { 'retention.ms': '-1', 'retention.bytes': '1000000' }, 'retention.bytes=1000000'],
    ['key', 'c.', { 'retention.ms': '-1', 'cleanup.policy': 'compact' }, 'cleanup.policy=compact'],
  ])(
    'a topic that deletes records by %s is refused with advice, but can be read',
    async (_, prefix, settings, found) => {
      const place = { brokers: node().brokers, prefix, partitions: 1 };
      await make(`${prefix}turns`, settings);
      const [name] = found.split('=');
      await expect(openKafkaLog(place)).rejects.toMatchObject({
        name: 'LogMismatch',
        message: expect.stringMatching(
          new RegExp(
            `${prefix}turns deletes records \\(${found}\\): .*--topic ${prefix}turns --add-config ${name}=`,
          ),
        ),
      });
      const log = await openKafkaLog({ ...place, anyRetention: true });
      expect(await readTopic(log, 'turns')).toEqual([]);
      await log.close();
    },
  );

  test("a group whose rows' topic deletes rows by time is refused too", async () => {
    const place = { brokers: node().brokers, prefix: 'd.', partitions: 1 };
    await make('d.ledgers-rows', { 'cleanup.policy': 'compact,delete' });
    const log = await openKafkaLog(place);
    await log.append([started('a', 0)]);
    await expect(log.process(ledger, ledgers, stop.signal)).rejects.toMatchObject({
      name: 'LogMismatch',
      message: expect.stringContaining('d.ledgers-rows deletes records (cleanup.policy=compact,delete)'),
    });
    await log.close();
  });

  test('topics that the log made itself keep their records', async () => {
    const place = { brokers: node().brokers, prefix: 'e.', partitions: 1 };
    await (await openKafkaLog(place)).close();
    await (await openKafkaLog(place)).close();
  });
});
