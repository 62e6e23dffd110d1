import { randomUUID } from 'node:crypto';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type KafkaNode, startKafka } from '../../infra/kafka/start-kafka.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { openDraft } from '../../shared/log/rows.ts';
import { echo, isLevel, readTopic, started, until, untilLevel } from './event-log-fixtures.ts';
import { describeWithKafka } from './kafka-node.ts';

/** Like every fold of the services: a known id changes nothing. */
const echoOnce: Fold<null> = {
  ...echo,
  on: (rows, event, at, settings) => {
    const draft = openDraft(rows);
    const seen = draft.table<boolean>('seen');
    if (seen.get(event.id) === true) return { changes: [], emit: [] };
    seen.set(event.id, true);
    const { changes, emit } = echo.on(rows, event, at, settings);
    return { changes: [...draft.changes(), ...changes], emit };
  },
};
const echoes = { group: 'echoes', settings: null };

/** Where each batch of a segment begins, bytes. */
function batchesOf(file: string): readonly number[] {
  const bytes = readFileSync(file);
  const starts: number[] = [];
  // int64 offset, int32 length of the rest
  for (let at = 0; at + 12 <= bytes.length; ) {
    const length = bytes.readInt32BE(at + 8);
    if (length <= 0) break;
    starts.push(at);
    at += 12 + length;
  }
  return starts;
}

let folder: string;

describeWithKafka(
  'a Kafka that lost the last records of a topic, as a power cut may',
  lostTails,
  (inFolder) => {
    folder = inFolder;
    return startKafka({ folder });
  },
);

function lostTails(node: () => KafkaNode): void {
  let prefix: string;
  let logs: EventLog[];
  let stop: AbortController;
  beforeEach(() => {
    prefix = `t-${randomUUID().slice(0, 8)}.`;
    logs = [];
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(logs.map((log) => log.close()));
  });

  const open = async () => {
    const place = { brokers: node().brokers, prefix, partitions: 1 };
    const log = await openKafkaLog({ ...place, sessionTimeoutMs: 2_000, deliveryTimeoutMs: 60_000 });
    logs.push(log);
    return log;
  };
  const lose = async (topic: string, batches: number) => {
    await node().kill();
    const file = join(folder, 'data', `${prefix}${topic}-0`, '00000000000000000000.log');
    truncateSync(file, batchesOf(file).at(-batches));
    await node().restart();
  };
  /** Five records of a lane, folded. */
  const begin = async () => {
    const log = await open();
    for (let n = 0; n < 5; n += 1) await log.append([started('a', n)]);
    const folding = new AbortController();
    const done = log.process(echoOnce, echoes, folding.signal);
    await untilLevel(log, 'echoes');
    folding.abort();
    await done;
    await log.close();
  };
  const namesOf = async (log: EventLog) =>
    (await readTopic(log, 'turns')).map(({ event }) =>
      event.type === 'turn.skipped' ? `${event.id} of ${event.data.turnId}: ${event.data.reason}` : event.id,
    );
  /** A broker that was killed may still have to write the end of a transaction here, which was committed before. */
  const outcomes = async (log: EventLog, count: number) => {
    await until(async () => (await namesOf(log)).length >= count);
    return namesOf(log);
  };
  const before = [
    'a-1/echo of a-0: side',
    'a-2/echo of a-1: side',
    'a-3/echo of a-2: side',
    'a-4/echo of a-3: side',
  ];

  test.each([
    ['before anything is appended', 0, 'ends at 3, and was read up to 5'],
    ['after another chat has taken their offsets', 3, 'holds another record at 4 than was read there'],
  ])(
    'a group that starts %s waits and reports it; after a repair it continues, with named outcomes',
    async (_, taken, why) => {
      await begin();
      await lose('conversations', 2);
      const log = await open();
      for (let n = 0; n < taken; n += 1) await log.append([started('stranger', n)]);
      let ended: unknown;
      const done = log.process(echoOnce, echoes, stop.signal).catch((error: unknown) => {
        ended = error;
      });
      await until(() => log.troubles('echoes').length > 0);
      expect(log.troubles('echoes')[0]).toContain(`${prefix}conversations/0 ${why}: records are lost`);
      expect(ended).toBeUndefined();
      const dry = await log.repair('echoes', 'conversations', { dryRun: true });
      expect(dry).toMatchObject([{ group: 'echoes', topic: 'conversations', partition: 0, from: 5, to: 3 }]);
      await log.append([started('a', 5)]); // people continue to chat
      expect(await outcomes(log, before.length)).toEqual(before);

      expect(await log.repair('echoes', 'conversations', { dryRun: false })).toEqual(
        taken === 0 ? [expect.objectContaining({ from: 5, to: 3 })] : dry,
      );
      await until(async () => log.troubles('echoes').length === 0 && (await isLevel(log, 'echoes')));
      await until(async () => (await namesOf(log)).includes('a-5/echo of a-4: record-gone'));
      const after = (await namesOf(log)).slice(before.length);
      expect(after.filter((line) => line.startsWith('a-') && line.includes('stranger'))).toEqual([]);
      expect(await log.repair('echoes', 'conversations', { dryRun: false })).toEqual([]);
      expect(ended).toBeUndefined();
      stop.abort();
      await done;
    },
  );

  test('a running fold and a running follower notice that other records have the offsets', async () => {
    const log = await open();
    const done = log.process(echoOnce, echoes, stop.signal);
    for (let n = 0; n < 5; n += 1) await log.append([started('a', n)]);
    const following = log.follow('conversations', {}, () => undefined, { signal: stop.signal });
    await following.caughtUp;
    await untilLevel(log, 'echoes');
    await lose('conversations', 2);
    const writer = await open();
    for (let n = 0; n < 6; n += 1) await writer.append([started('stranger', n)]);
    await expect(following.done).rejects.toMatchObject({ name: 'RecordsLost' });
    await until(() => log.troubles('echoes').some((one) => one.includes('records are lost')));
    expect(await outcomes(log, before.length)).toEqual(before);
    await log.repair('echoes', 'conversations', { dryRun: false });
    await until(() => isLevel(log, 'echoes'));
    expect((await outcomes(log, before.length + 5)).slice(before.length)).toEqual(
      [1, 2, 3, 4, 5].map((n) => `stranger-${n}/echo of stranger-${n - 1}: side`),
    );
    stop.abort();
    await done;
  });

  test('a group whose rows are lost returns to the position of the remaining rows', async () => {
    await begin();
    await lose('echoes-rows', 2);
    const log = await open();
    const done = log.process(echoOnce, echoes, stop.signal);
    await until(() => log.troubles('echoes').length > 0);
    expect(log.troubles('echoes')[0]).toContain('echoes-rows/0 holds the rows up to ');
    await log.repair('echoes', 'conversations', { dryRun: false });
    await until(async () => log.troubles('echoes').length === 0 && (await isLevel(log, 'echoes')));
    // the same facts again, under the same ids
    expect(new Set(await outcomes(log, before.length))).toEqual(new Set(before));
    stop.abort();
    await done;
  });

  test('a record that was changed on the disk of the broker is found', async () => {
    await begin();
    const log = await open();
    const noted = await log.verify('conversations');
    expect(noted).toMatchObject([{ from: 0, records: 5 }]);
    expect(noted[0]!.broken).toBeUndefined();
    await node().stop();
    const file = join(folder, 'data', `${prefix}conversations-0`, '00000000000000000000.log');
    const bytes = readFileSync(file);
    bytes.write('b', bytes.indexOf('"id":"a-2"') + 6);
    writeFileSync(file, bytes);
    await node().restart();
    const again = await open();
    const [chain] = await again.verify('conversations');
    expect(chain!.broken).toMatchObject({ from: 0, why: expect.stringContaining('what echoes read') });
    expect((await again.verify('turns')).map(({ broken }) => broken)).toEqual([undefined]);
  });
}
