import { expect, onTestFinished, test } from 'vitest';
import type { EventLog, ProcessOptions } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openTopicReader, type TopicReader } from '../../shared/log/kafka/topic-reader.ts';
import { partitionOf } from '../../shared/log/partition-of.ts';
import { bulk, isMigrated, laterBulk, ROWS_PER_EVENT } from './bulk-fold.ts';
import { startChild } from './event-log-child.ts';
import { isLevel, started, until } from './event-log-fixtures.ts';
import { kafkaHarness } from './kafka-event-log-harness.ts';
import { describeWithKafka } from './kafka-node.ts';

/** The third number takes longer than the 10 s that Kafka gives other transactions. */
const SIZES = [30_000, 100_000, 300_000];
const group = 'bulk';
const lane = 'a';
const SESSION_TIMEOUT_MS = 10_000;

describeWithKafka('a migration of many rows on Kafka', (kafka) => {
  /** A log whose group has this many rows, all in one partition. */
  async function filled(rows: number) {
    const harness = await kafkaHarness(kafka(), SESSION_TIMEOUT_MS);
    onTestFinished(harness.dispose);
    const log = await harness.open();
    for (let n = 0; n < rows / ROWS_PER_EVENT; n += 20)
      await log.append(Array.from({ length: 20 }, (_, of) => started(lane, n + of)));
    await run(log, bulk, () => isLevel(log, group));
    return { harness, log };
  }

  test.each(SIZES)(
    '%i rows of one partition are migrated at the first try',
    async (count) => {
      const { log } = await filled(count);
      const already: number[] = [];
      const { ms, troubles } = await run(
        log,
        laterBulk((rows) => void already.push(rows)),
        async () => true,
      );
      console.log(`${count} rows migrated in ${ms} ms`);
      expect(already).toEqual([0]);
      expect(troubles).toEqual([]);
      await expectMigrated(log, count);
      // the fold goes on, in transactions of the usual length
      await log.append([started(lane, count)]);
      await run(
        log,
        laterBulk(() => {}),
        () => isLevel(log, group),
      );
      await expectMigrated(log, count, ROWS_PER_EVENT);
    },
    900_000,
  );

  test('a process that is killed during the migration leaves the rows as they were', async () => {
    const count = 100_000;
    const { harness, log } = await filled(count);
    const { opener, connection, at } = harness;
    const reader = openTopicReader(at.kafka);
    onTestFinished(reader.close);
    const end = () => endOfRows(reader, at.rowsTopic(group));
    const before = await end();
    const child = startChild({
      opener,
      connection,
      task: { kind: 'process', group, label: '', isBulk: true },
    });
    onTestFinished(child.kill);
    await child.said('migrating, 0 are already');
    await until(async () => (await end()) > before + ROWS_PER_EVENT, 120_000);
    await child.kill();
    const already: number[] = [];
    await run(
      log,
      laterBulk((rows) => void already.push(rows)),
      async () => true,
    );
    expect(already).toEqual([0]);
    await expectMigrated(log, count);
  }, 900_000);
});

/** Folds until the rows were taken over and `isOver`. Returns ms until the rows could be used. */
async function run(log: EventLog, fold: Fold<null>, isOver: () => Promise<boolean>) {
  const stop = new AbortController();
  const taken = Promise.withResolvers<void>();
  const troubles = new Set<string>();
  const begun = performance.now();
  const owed: ProcessOptions<null>['owed'] = (subjects) => {
    for (const trouble of log.troubles(group)) troubles.add(trouble);
    if (subjects.length > 0) taken.resolve();
  };
  const done = log.process(fold, { group, settings: null, owed }, stop.signal);
  await Promise.race([taken.promise, done]);
  const ms = Math.round(performance.now() - begun);
  await Promise.race([until(isOver, 300_000), done]);
  stop.abort();
  await done;
  return { ms, troubles: [...troubles] };
}

async function expectMigrated(log: EventLog, count: number, more = 0): Promise<void> {
  const { rowsVersion, subjects } = (await log.committed(group)).find(({ subjects: of }) => of.length > 0)!;
  expect(rowsVersion).toBe(2);
  const all = [...subjects[0]!.rows.entries('row/')];
  expect(all).toHaveLength(count + more);
  expect(all.filter(([, row]) => isMigrated(row))).toHaveLength(count);
}

/** The end of the rows in the lane's partition, with those of an open transaction. */
const endOfRows = async (reader: TopicReader, topic: string): Promise<number> => {
  const ends = await reader.offsets(topic, 'end');
  return ends[partitionOf(lane, ends.length)]!;
};
