import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyChains } from '../../services/cli/audit/verify-chains.ts';
import { proveCopy } from '../../services/cli/forget/prove-copy.ts';
import { CliConfig } from '../../shared/config/cli.ts';
import { topics } from '../../shared/events/define-event.ts';
import { parseEvent } from '../../shared/events/parse-event.ts';
import { withoutWords } from '../../shared/events/without-words.ts';
import { WordsErased } from '../../shared/events/words-erased.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { copyRewritten, planCopy } from '../../shared/log/kafka/log-rewrite.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { noteReplaced } from '../../shared/log/kafka/replaced-log.ts';
import { openStillLog, type StillLog } from '../../shared/log/kafka/still-log.ts';
import type { Rewriting, RewrittenChain } from '../../shared/log/log-contents.ts';
import { trimLog } from '../../shared/retention/trim-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import {
  feedback,
  ledger,
  ledgers,
  readLedger,
  readTopic,
  startedMany,
  untilLevel,
} from './event-log-fixtures.ts';
import { kafkaHarness } from './kafka-event-log-harness.ts';
import { describeWithKafka } from './kafka-node.ts';
import { logForEach } from './log-harness.ts';

const lanes = 6;
const time = '2026-03-02T12:00:00.000Z';
const { signal } = new AbortController();

/** Erases the comments of all feedback. @param chains what the event says of them */
const rewritingOf = (chains = (all: readonly RewrittenChain[]) => all): Rewriting => ({
  record: ({ type, body }) => {
    const parsed = parseEvent(body);
    if (type !== 'feedback.given' || parsed.kind !== 'event' || parsed.event.erased !== undefined)
      return undefined;
    return JSON.stringify(withoutWords(parsed.event, time));
  },
  row: () => undefined,
  fact: (done) =>
    WordsErased.create({
      id: `erasure/${time}`,
      source: 'clawloop/test',
      time,
      data: {
        ...{ scope: 'key', name: 'k', key: 'k', by: 'test', turns: 1, versions: [] },
        records: done.chains.reduce((sum, { records }) => sum + records, 0),
        rows: done.rows,
        chains: chains(done.chains),
      },
    }),
});

describeWithKafka('an erasure on Kafka', (node) => {
  const on = logForEach(() => kafkaHarness(node()));
  let place: string;
  let closing: { readonly close: () => Promise<void> }[];
  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), 'clawloop-kafka-erasure-'));
    closing = [];
  });
  afterEach(async () => {
    await Promise.all(closing.map((one) => one.close()));
    await rm(place, { recursive: true, force: true });
  });

  const from = () => {
    const { brokers, prefix } = on.harness.connection as { brokers: readonly string[]; prefix: string };
    return { brokers, prefix };
  };
  const to = () => ({ ...from(), prefix: `${from().prefix}copy.` });
  const opened = <Some extends { readonly close: () => Promise<void> }>(some: Some): Some => {
    closing.push(some);
    return some;
  };
  const still = async () => opened(await openStillLog(from(), { patienceMs: 10_000, signal }));
  const copyLog = async () => opened(await openKafkaLog({ ...to(), deliveryTimeoutMs: 60_000 }));
  const foldAll = async (log: EventLog, group: string = ledgers.group) => {
    const stop = new AbortController();
    const done = log.process(ledger, { ...ledgers, group }, stop.signal);
    await untilLevel(log, group);
    stop.abort();
    await done;
    return readLedger(log);
  };
  /** Facts of several lanes with comments between them, folded. */
  const filled = async (group: string = ledgers.group) => {
    const log = await on.harness.open();
    for (let round = 0; round < 4; round += 1) {
      await log.append(startedMany(12, lanes, 12 * round));
      await log.append(
        [0, 1, 2].map((n) => feedback(`lane-${n}`, `f-${round}-${n}`, `secret ${round} ${n}`)),
      );
      await foldAll(log, group);
    }
    return log;
  };
  const copy = async (log: StillLog, rewriting = rewritingOf()) => {
    const planned = await planCopy(log, { rewriting, signal });
    return copyRewritten(log, to(), planned, { rewriting, signal });
  };
  const prove = (log: StillLog) => {
    const settings = CliConfig.parse({
      ...{ log: 'kafka', kafkaBrokers: from().brokers, kafkaPrefix: from().prefix, dataFolder: place },
    });
    return proveCopy(log, { settings, data: dataFolder(place), into: to().prefix });
  };
  /** The records are proven; these facts have no answers, so they never balance. */
  const onlyUnbalanced = /as it is now: clawloop audit says/;
  const countsOf = (lane: readonly string[]) => lane.map((line) => Number(line.split(' ')[1]));

  test('every record is at its offset, without the words, and folds that read them go on', async () => {
    const log = await filled();
    const { heads } = await verifyChains(log);
    await copy(await still());
    const erased = await copyLog();
    expect(erased.logId).toBe(log.logId);
    for (const topic of ['conversations', 'turns', 'training'] as const) {
      expect(await erased.ends(topic)).toEqual(await log.ends(topic));
      const placesOf = async (one: EventLog) =>
        (await readTopic(one, topic))
          .map(({ at, event }) => `${at.partition}/${at.offset} ${event.id}`)
          .sort();
      expect(await placesOf(erased)).toEqual(await placesOf(log));
    }
    expect(JSON.stringify(await readTopic(log, 'conversations'))).toContain('secret');
    expect(JSON.stringify(await readTopic(erased, 'conversations'))).not.toContain('secret');
    const report = await verifyChains(erased, { logId: log.logId, heads: [...heads] });
    expect(report).toMatchObject({ broken: [], outdated: [] });
    const before = await readLedger(erased);
    expect(before).toEqual(await readLedger(log));
    await erased.append([...startedMany(12, lanes, 48), feedback('lane-0', 'f-new', 'secret, said later')]);
    const lists = Object.values(await foldAll(erased));
    for (const lane of lists) expect(countsOf(lane)).toEqual(lane.map((_, n) => n + 1));
    expect(lists.flat().length).toBe(Object.values(before).flat().length + 13);
    expect((await verifyChains(erased)).broken).toEqual([]);
  });

  test('of a trimmed log, the rest is copied from its first offsets on', async () => {
    const log = await filled('attribute'); // without it, a trim removes nothing
    await trimLog(log, { keep: '0s', keepBytes: '', source: 'clawloop/test', now: Date.now() + 60_000 });
    await log.append([...startedMany(6, lanes, 48), feedback('lane-0', 'f-late', 'secret, said late')]);
    const starts = await log.starts('conversations');
    expect(Math.max(...starts)).toBeGreaterThan(0);
    await copy(await still());
    const erased = await copyLog();
    for (const topic of topics) expect(await erased.starts(topic)).toEqual(await log.starts(topic));
    expect(JSON.stringify(await readTopic(erased, 'conversations'))).not.toContain('secret');
    expect((await verifyChains(erased)).broken).toEqual([]);
    const last = Object.values(await foldAll(erased, 'attribute')).map((lane) => countsOf(lane).at(-1)!);
    expect(last.reduce((sum, count) => sum + count, 0)).toBe(4 * 15 + 7);
  });

  test('a copy is not opened when anything wrote to the log meanwhile, and the next one begins anew', async () => {
    const log = await filled();
    const early = await still();
    await log.append([feedback('lane-1', 'f-late', 'secret, said late')]);
    await expect(copy(early)).rejects.toMatchObject({
      name: 'LogUnavailable',
      message: expect.stringContaining('stop all services'),
    });
    await expect(copyLog()).rejects.toMatchObject({ message: expect.stringContaining('has not finished') });
    const later = await still();
    await copy(later);
    await expect(prove(later)).rejects.toThrow(onlyUnbalanced);
  });

  test('a copy proves nothing about records that came later', async () => {
    const log = await filled();
    await copy(await still());
    await expect(prove(await still())).rejects.toThrow(onlyUnbalanced);
    await log.append([feedback('lane-2', 'f-later', 'secret, said later')]);
    await expect(prove(await still())).rejects.toThrow(/as it is now: conversations\/\d, offsets .*noted/);
  });

  test.each([
    ['hides a chain', (all: readonly RewrittenChain[]) => all.slice(1)],
    ['names another head', (all: readonly RewrittenChain[]) => all.map((one) => ({ ...one, after: 'no' }))],
  ])('a copy whose erasure %s proves nothing', async (_, chains) => {
    await filled();
    const log = await still();
    await copy(log, rewritingOf(chains));
    await expect(prove(log)).rejects.toThrow(/as it is now: conversations\/\d, offsets .*noted/);
  });

  test('a log that was replaced is opened by nobody, and tells where it is', async () => {
    const log = await filled();
    const replacedBy = { prefix: 'new.', restore: 'r', topics: [], isDeleted: false };
    await noteReplaced(from(), { logId: log.logId, replacedBy });
    await expect(on.harness.open()).rejects.toMatchObject({
      name: 'LogMismatch',
      message: expect.stringContaining('give --kafka-prefix new.'),
    });
  });
});
