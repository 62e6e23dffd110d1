import { z } from 'zod';
import { withLog } from '../../../clients/with-log.ts';
import { catalogue } from '../../../shared/events/catalogue.ts';
import { type Topic, topics as topicNames } from '../../../shared/events/define-event.ts';
import { sum } from '../../../shared/lang/numbers.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { excerpt, formatTable } from '../../../shared/runtime/table.ts';
import type { Command } from '../command.ts';
import { createTopicsOfLog } from '../create-topics.ts';
import { ANY_WORDS, readOptions, splitAction, wholeNumber } from '../options.ts';
import { redriveTopics } from '../redrive-topics.ts';
import { repairTopics } from '../repair-topics.ts';
import { openFilter } from '../tail-filter.ts';

const tailOptions = {
  follow: { type: 'boolean', short: 'f' },
  json: { type: 'boolean' },
  type: { type: 'string', multiple: true },
  key: { type: 'string' },
  session: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  last: { type: 'string', short: 'n' },
} as const;

export const topics: Command = {
  name: 'topics',
  usage: 'list | describe | create | tail | redrive | repair',
  about: 'read and repair the topics of the log',
  details: [
    ['list', 'show how many records each topic has'],
    ['describe [--json]', 'show every event type'],
    ['create [--partitions N]', 'create the missing topics of a Kafka log'],
    ['tail [TOPIC ...]', 'print records'],
    ['  -n, --last N', 'only the latest N by time'],
    ['  -f, --follow', 'keep printing new records'],
    ['  --type TYPE', 'only this event type; repeat for several'],
    ['  --key KEY', 'only records with this key: a lane or an adapter'],
    ['  --session S', 'only this session: chats, turns, votes, samples, batches and their steps'],
    ['  --since T, --until T', 'from T, before T: an ISO time, or a time span ago (30s, 10m, 2h, 1d)'],
    ['  --json', 'print one complete JSON object per line'],
    [
      'redrive [--all | --last N]',
      'put dead letters that can be read now back into their topics; default: all',
    ],
    ['  --dry-run', 'show what would be done, without doing it'],
    ['repair', 'reset offsets of groups that have read records which a Kafka log has lost'],
    ['  --dry-run', 'show what would be done, without doing it'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    if (action === 'list') return list(rest);
    if (action === 'describe') return describe(rest);
    if (action === 'create') return createTopicsOfLog(rest);
    if (action === 'tail') return tail(rest);
    if (action === 'redrive') return redriveTopics(rest);
    if (action === 'repair') return repairTopics(rest);
    throw new UsageError(`unknown action '${action}'; one of: list, describe, create, tail, redrive, repair`);
  },
};

async function list(argv: readonly string[]): Promise<number> {
  const { settings } = readOptions(argv, {});
  return withLog(settings, async (log) => {
    const rows = await Promise.all(
      topicNames.map(async (topic) => {
        const [starts, ends] = [await log.starts(topic), await log.ends(topic)];
        return [topic, sum(ends) - sum(starts), ends.join(' ')];
      }),
    );
    console.log(`log ${log.logId}\n\n${formatTable(['topic', 'records', 'ends per partition'], rows)}`);
    return 0;
  });
}

async function describe(argv: readonly string[]): Promise<number> {
  const { values } = readOptions(argv, { json: { type: 'boolean' } });
  const schemas = () =>
    catalogue.map(({ type, version, topic, schema }) => ({
      type,
      version,
      topic,
      schema: z.toJSONSchema(schema, { io: 'output' }),
    }));
  console.log(values.json ? JSON.stringify(schemas(), null, 2) : describeCatalogue());
  return 0;
}

/** The event catalogue for a terminal, by topic. */
function describeCatalogue(): string {
  return topicNames
    .map((topic) => {
      const rows = catalogue
        .filter((definition) => definition.topic === topic)
        .map(({ type, version, writtenBy, about }) => [type, `v${version}`, writtenBy, about]);
      return `${topic}\n\n${formatTable(['event', '', 'written by', 'meaning'], rows)}`;
    })
    .join('\n\n');
}

async function tail(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, tailOptions, ANY_WORDS);
  const chosen = words.length === 0 ? topicNames : words.map(asTopic);
  // a session spans all topics: show all of it, in order of time
  const whole = values.session === undefined ? undefined : Number.POSITIVE_INFINITY;
  const unless = values.follow ? 0 : whole;
  const count = values.last === undefined ? unless : wholeNumber(values.last, '--last');
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const print = ({ topic, ...record }: TopicRecord) =>
    console.log(values.json ? JSON.stringify({ topic, ...record }) : line(topic, record));
  return withLog(settings, async (log) => {
    const filter = await openFilter(values, log, Date.now());
    const buffer = lastOf(count, print);
    const followings = await Promise.all(
      chosen.map(async (topic) => {
        const ends = await log.ends(topic);
        const onRecord = (record: Recorded) => {
          if (!filter.has(record.event)) return;
          buffer.add({ topic, ...record }, record.at.offset < ends[record.at.partition]!);
        };
        // a filter may drop all of the latest records, so read all
        const reach = filter.isNarrow && count !== 0 ? undefined : count;
        const from = reach === undefined ? {} : { ...ends.map((end) => Math.max(0, end - reach)) };
        return log.follow(topic, from, onRecord, { signal: stop.signal });
      }),
    );
    await Promise.all(followings.map((following) => Promise.race([following.caughtUp, following.done])));
    buffer.release();
    if (!values.follow) stop.abort();
    await Promise.all(followings.map((following) => following.done));
    return 0;
  });
}

type TopicRecord = Recorded & { readonly topic: Topic };

/** Events derived from another have its time; then the topics decide, in the order of the loop. */
const byTime = (a: TopicRecord, b: TopicRecord) =>
  a.event.time.localeCompare(b.event.time) || topicNames.indexOf(a.topic) - topicNames.indexOf(b.topic);

/**
 * Prints the last `count` of the records that were in the log at the start, over all topics, ordered by time;
 * then new records. Without a count, it prints each record as it is read.
 */
function lastOf(count: number | undefined, print: (record: TopicRecord) => void) {
  if (count === undefined) return { add: print, release: () => {} };
  let [old, fresh]: [TopicRecord[], TopicRecord[]] = [[], []];
  let released = false;
  const trim = () => {
    old = old.sort(byTime).slice(Math.max(0, old.length - count));
  };
  return {
    add: (record: TopicRecord, isOld: boolean): void => {
      if (released) print(record);
      else (isOld ? old : fresh).push(record);
      if (old.length > 2 * count + 1_000) trim();
    },
    release: (): void => {
      trim();
      for (const record of [...old, ...fresh]) print(record);
      [old, fresh, released] = [[], [], true];
    },
  };
}

function asTopic(word: string): Topic {
  const topic = topicNames.find((name) => name === word);
  if (topic === undefined) throw new UsageError(`unknown topic '${word}'; one of: ${topicNames.join(', ')}`);
  return topic;
}

const line = (topic: Topic, { event, at }: Recorded): string =>
  `${event.time}  ${`${topic}/${at.partition}@${at.offset}`.padEnd(22)} ${event.type.padEnd(22)} ` +
  `${event.subject.padEnd(14)} ${excerpt(`${event.id} ${JSON.stringify(event.data)}`, 140)}`;
