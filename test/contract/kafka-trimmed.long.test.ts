import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { ledger, readLedger, startedMany, until, untilLevel } from './event-log-fixtures.ts';
import { describeWithKafka } from './kafka-node.ts';

const options = { group: 'ledgers', settings: { label: 'one' } };
const trimmedTo = 4;

describeWithKafka('a topic of Kafka that was trimmed', (node) => {
  let stop: AbortController;
  beforeEach(() => {
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  const trim = async (prefix: string, offset: number) => {
    const { kafka, topicName } = connectTo({ brokers: node().brokers, prefix });
    const admin = kafka.admin();
    await admin.connect();
    const partitions = [{ partition: 0, offset: String(offset) }];
    await admin.fetchTopicOffsets(topicName('conversations')); // otherwise kafkajs does not know its leader
    await admin.deleteTopicRecords({ topic: topicName('conversations'), partitions });
    await admin.disconnect();
  };

  test.each([
    ['a group that is new', 0],
    ['a group that was stopped meanwhile', 2],
  ])('%s continues after the gap and reports it', async (_, before) => {
    const prefix = `trimmed-${before}.`;
    const reported: unknown[] = [];
    const onTrimmed = (trimmed: unknown) => void reported.push(trimmed);
    const log = await openKafkaLog({ brokers: node().brokers, prefix, partitions: 1, onTrimmed });
    if (before > 0) {
      await log.append(startedMany(before, 1));
      const folding = new AbortController();
      const done = log.process(ledger, options, folding.signal);
      await untilLevel(log, 'ledgers');
      folding.abort();
      await done;
    }
    await log.append(startedMany(6 - before, 1, before));
    await trim(prefix, trimmedTo);
    if (before > 0) expect(await log.lag('ledgers')).toMatchObject([{ position: trimmedTo, end: 6 }]);
    const done = log.process(ledger, options, stop.signal);
    await until(async () => (await log.lag('ledgers')).some(({ position }) => position === 6));
    expect(reported).toEqual([
      { group: 'ledgers', topic: 'conversations', partition: 0, from: before, to: trimmedTo },
    ]);
    expect(log.troubles('ledgers')).toEqual([]);
    stop.abort();
    await done;
    const [folded] = Object.values(await readLedger(log));
    expect(folded).toBeDefined();
    await log.close();
  });

  test('a group with a position beyond the end waits and reports it', async () => {
    const prefix = 'other.';
    const log = await openKafkaLog({ brokers: node().brokers, prefix, partitions: 1 });
    await log.append(startedMany(3, 1));
    const { kafka, topicName, groupId } = connectTo({ brokers: node().brokers, prefix });
    const admin = kafka.admin();
    await admin.connect();
    const partitions = [{ partition: 0, offset: '90' }];
    await admin.setOffsets({ groupId: groupId('ledgers'), topic: topicName('conversations'), partitions });
    await admin.disconnect();
    const done = log.process(ledger, options, stop.signal);
    await until(() => log.troubles('ledgers').length > 0);
    const why = 'other.conversations/0 ends at 3, and was read up to 90: records are lost';
    expect(log.troubles('ledgers')[0]).toContain(why);
    expect(await log.lag('ledgers')).toMatchObject([{ position: 90, stopped: expect.stringContaining(why) }]);
    stop.abort();
    await done;
    await log.close();
  });
});
