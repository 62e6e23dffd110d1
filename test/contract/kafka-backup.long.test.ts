import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyChains } from '../../services/cli/audit/verify-chains.ts';
import { backUpToBucket } from '../../services/cli/backup/back-up-to-bucket.ts';
import { backupFolder } from '../../services/cli/backup/backup-folder.ts';
import { bucketSource } from '../../services/cli/backup/bucket-points.ts';
import { folderCheckpoints } from '../../services/cli/backup/checkpoint-source.ts';
import { kafkaSource } from '../../services/cli/backup/kafka-source.ts';
import { kafkaTarget } from '../../services/cli/backup/kafka-target.ts';
import type { Manifest } from '../../services/cli/backup/manifest.ts';
import { folderSource, type PointSource } from '../../services/cli/backup/point-source.ts';
import { restorePoint } from '../../services/cli/backup/read-point.ts';
import { takeBackup } from '../../services/cli/backup/take-backup.ts';
import { openBucket } from '../../shared/bucket/open-bucket.ts';
import { topics } from '../../shared/events/define-event.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { openLogReader } from '../../shared/log/kafka/log-cut.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { trimLog } from '../../shared/retention/trim-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import {
  ledger,
  ledgers,
  readLedger,
  readTopic,
  startedMany,
  until,
  untilLevel,
} from './event-log-fixtures.ts';
import { kafkaHarness } from './kafka-event-log-harness.ts';
import { describeWithKafka } from './kafka-node.ts';
import { logForEach } from './log-harness.ts';
import { describeWithS3, newBucket } from './with-s3.ts';

const lanes = 9;
/** events of the full load */
const MOST = 6_000;
const options = { onProgress: () => {}, signal: new AbortController().signal };

describeWithKafka('a backup of Kafka', (node) => {
  const on = logForEach(() => kafkaHarness(node()));
  let place: string;
  let restored: EventLog[];
  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), 'clawloop-kafka-backup-'));
    restored = [];
  });
  afterEach(async () => {
    await Promise.all(restored.map((log) => log.close()));
    await rm(place, { recursive: true, force: true });
  });

  const connection = () =>
    on.harness.connection as { readonly brokers: readonly string[]; readonly prefix: string };
  const folder = () => backupFolder(join(place, 'backup'));
  const here = () => {
    const data = dataFolder(join(place, 'data'));
    return { data, checkpoints: folderCheckpoints(data.checkpoints) };
  };
  const backUp = async (): Promise<Manifest> => {
    const log = await kafkaSource(connection());
    try {
      const from = { ...here(), log };
      const time = '2026-03-01T12:00:00.000Z';
      return (await takeBackup(from, folder(), { ...options, time, keepPoints: undefined })).manifest;
    } finally {
      await log.close();
    }
  };
  const restore = async (
    manifest: Manifest,
    to: string,
    points: PointSource = folderSource(folder()),
  ): Promise<EventLog> => {
    const { brokers, prefix } = connection();
    const other = { brokers, prefix: `${prefix}${to}.` };
    const target = await kafkaTarget(other, manifest);
    try {
      const data = dataFolder(join(place, to));
      await restorePoint(points, manifest, { data, target }, options);
    } finally {
      await target.close();
    }
    const log = await openKafkaLog({ ...other, deliveryTimeoutMs: 60_000 });
    restored.push(log);
    return log;
  };

  /** Folds all that is there, and goes on. @returns what the ledger then has, per lane */
  const foldAll = async (log: EventLog, group: string = ledgers.group) => {
    const stop = new AbortController();
    const done = log.process(ledger, { ...ledgers, group }, stop.signal);
    await untilLevel(log, group);
    stop.abort();
    await done;
    return readLedger(log);
  };
  const countsOf = (lane: readonly string[]) => lane.map((line) => Number(line.split(' ')[1]));

  test('points that are taken at full load while members are killed are whole moments', async () => {
    const log = await on.harness.open();
    let appended = 0;
    let isOver = false;
    const people = (async () => {
      // An end, so that a slow machine gets its points, too.
      for (; !isOver && appended < MOST; appended += 1) await log.append(startedMany(1, lanes, appended));
    })();
    const members = [on.member(), on.member()];
    await Promise.all(members.map((member) => member.said('progress')));
    const points: Manifest[] = [];
    for (const round of [0, 1]) {
      const taking = backUp();
      members[round]!.signal('SIGKILL');
      members[round] = on.member();
      points.push(await taking);
    }
    isOver = true;
    await people;
    const placesOf = async (one: EventLog) =>
      (await readTopic(one, 'conversations')).map(
        ({ at, event }) => `${at.partition}/${at.offset} ${event.id}`,
      );
    const original = new Set(await placesOf(log));
    for (const [index, point] of points.entries()) {
      const copy = await restore(point, `copy-${index}`);
      expect((await verifyChains(copy, point)).broken).toEqual([]);
      const before = await placesOf(copy);
      expect(before.filter((one) => !original.has(one))).toEqual([]);
      const lists = Object.values(await foldAll(copy));
      // A commit that is in the point by half would be counted twice, or not at all.
      for (const lane of lists) expect(countsOf(lane)).toEqual(lane.map((_, n) => n + 1));
      expect(lists.flat().length).toBe(before.length);
    }
  });

  test('a trimmed log is restored with its first offsets, and goes on', async () => {
    const log = await on.harness.open();
    await log.append(startedMany(60, lanes));
    await foldAll(log, 'attribute'); // without it, a trim removes nothing
    await trimLog(log, { keep: '0s', keepBytes: '', source: 'clawloop/test', now: Date.now() + 60_000 });
    await log.append(startedMany(20, lanes, 60));
    const starts = await log.starts('conversations');
    expect(Math.max(...starts)).toBeGreaterThan(0);
    const copy = await restore(await backUp(), 'copy');
    expect(await copy.starts('conversations')).toEqual(starts);
    for (const topic of topics) expect(await copy.ends(topic)).toEqual(await log.ends(topic));
    expect((await verifyChains(copy)).broken).toEqual([]);
    const last = Object.values(await foldAll(copy, 'attribute')).map((lane) => countsOf(lane).at(-1)!);
    expect(last.reduce((sum, count) => sum + count, 0)).toBe(80);
  });

  test('topics of a restore that was killed are no log, and the next restore begins again', async () => {
    const log = await on.harness.open();
    await log.append(startedMany(30, lanes));
    await foldAll(log);
    const manifest = await backUp();
    const { brokers, prefix } = connection();
    const other = { brokers, prefix: `${prefix}copy.` };
    const killed = await kafkaTarget(other, manifest);
    const staged = folder().point(manifest.point);
    await killed.fill(staged, { onBytes: () => {}, signal: options.signal });
    await killed.close();
    const unfinished = { name: 'LogMismatch', message: expect.stringContaining('has not finished') };
    await expect(openKafkaLog(other)).rejects.toMatchObject(unfinished);
    await expect(kafkaSource(other)).rejects.toMatchObject(unfinished);
    const copy = await restore(manifest, 'copy');
    expect(copy.logId).toBe(log.logId);
    expect((await verifyChains(copy, manifest)).broken).toEqual([]);
    expect(await foldAll(copy)).toEqual(await readLedger(log));
    await expect(kafkaTarget(other, manifest)).rejects.toMatchObject({
      name: 'LogMismatch',
      message: expect.stringContaining('hold a log already'),
    });
  });

  describeWithS3('in a bucket', (server) => {
    test('a point of Kafka is kept, too, and a later one uploads no object again', async () => {
      const log = await on.harness.open();
      await log.append(startedMany(30, lanes));
      await foldAll(log);
      const bucket = openBucket((await newBucket(server())).place);
      const source = await kafkaSource(connection());
      const time = '2026-03-01T12:00:00.000Z';
      const backUpThere = () =>
        backUpToBucket({ ...here(), log: source }, bucket, {
          ...options,
          time,
          keepPoints: undefined,
        });
      const { manifest, bytes } = await backUpThere();
      expect(bytes).toBeGreaterThan(0);
      expect((await backUpThere()).bytes).toBe(0);
      const copy = await restore(manifest, 'copy', bucketSource(bucket));
      expect((await verifyChains(copy, manifest)).broken).toEqual([]);
      expect(await foldAll(copy)).toEqual(await readLedger(log));
      await source.close();
      await bucket.close();
    });
  });

  test('there is no point while a transaction is open, and its partition is named', async () => {
    const log = await on.harness.open();
    await log.append(startedMany(3, lanes));
    await foldAll(log);
    const { kafka, topicName } = on.harness.at;
    const producer = kafka.producer({ transactionalId: 'test', maxInFlightRequests: 1, idempotent: true });
    await producer.connect();
    const transaction = await producer.transaction();
    const messages = [{ key: 'k', value: '{}', partition: 1 }];
    await transaction.send({ topic: topicName('turns'), messages });
    const reader = await openLogReader(connection());
    const cut = () =>
      reader.cut({ patienceMs: 100, signal: options.signal, onRows: () => Promise.resolve() });
    await expect(cut()).rejects.toMatchObject({
      name: 'LogUnavailable',
      message: expect.stringContaining(`at last to ${topicName('turns')}/1: try again later`),
    });
    await transaction.abort();
    await until(async () => {
      const found = await cut().catch(() => undefined);
      return found !== undefined;
    });
    await reader.close();
    await producer.disconnect();
  });
});
