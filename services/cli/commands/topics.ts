import { z } from 'zod';
import { catalogue } from '../../../shared/events/catalogue.ts';
import { type Topic, topics as topicNames } from '../../../shared/events/define-event.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { type Command, UsageError } from '../command.ts';
import { createTopicsOfLog } from '../create-topics.ts';
import { describeCatalogue } from '../describe-catalogue.ts';
import { readOptions, splitAction, wholeNumber } from '../options.ts';
import { redriveTopics } from '../redrive-topics.ts';
import { repairTopics } from '../repair-topics.ts';
import { excerpt, formatTable } from '../table.ts';
import { openFilter } from '../tail-filter.ts';
import { withLog } from '../with-log.ts';

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
  about: 'what stands in the log',
  details: [
    ['list', 'how many records each topic holds'],
    ['describe [--json]', 'every type of event'],
    ['create [--partitions N]', 'the topics of a Kafka log, where they are missing'],
    ['tail [TOPIC ...]', 'records as they stand in the log, or as they come'],
    ['  -n, --last N', 'the latest N, by their time'],
    ['  -f, --follow', 'go on with what comes'],
    ['  --type TYPE', 'of this type; may be given several times'],
    ['  --key KEY', 'with this key: a lane, or an adapter'],
    ['  --session S', 'of this session: its chats, turns, votes, samples, batches and their steps'],
    ['  --since T, --until T', 'from T on, before T: an ISO time, or 30s, 10m, 2h, 1d ago'],
    ['  --json', 'one object per line, whole'],
    [
      'redrive [--all | --last N]',
      'puts dead letters that can be read now back into their topics; all unless told',
    ],
    ['  --dry-run', 'only says what would be'],
    ['repair', 'sets readers back to what is there, where a Kafka log lost records that they had read'],
    ['  --dry-run', 'only says what would be'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    if (action === 'list') return list(rest);
    if (action === 'describe') return describe(rest);
    if (action === 'create') return createTopicsOfLog(rest);
    if (action === 'tail') return tail(rest);
    if (action === 'redrive') return redriveTopics(rest);
    if (action === 'repair') return repairTopics(rest);
    throw new UsageError(`topics ${action}? one of: list, describe, create, tail, redrive, repair`);
  },
};

async function list(argv: readonly string[]): Promise<number> {
  const { settings } = readOptions(argv, {});
  return withLog(settings, async (log) => {
    const rows = await Promise.all(
      topicNames.map(async (topic) => {
        const ends = await log.ends(topic);
        return [topic, ends.reduce((sum, end) => sum + end, 0), ends.join(' ')];
      }),
    );
    console.log(`log ${log.logId}\n\n${formatTable(['topic', 'records', 'per partition'], rows)}`);
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

async function tail(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(argv, tailOptions);
  const chosen = words.length === 0 ? topicNames : words.map(asTopic);
  // a session is a story over all topics: whole, and in order of time
  const whole = values.session === undefined ? undefined : Number.POSITIVE_INFINITY;
  const unless = values.follow ? 0 : whole;
  const count = values.last === undefined ? unless : wholeNumber(values.last, '--last');
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const print = ({ topic, ...record }: Found) =>
    console.log(values.json ? JSON.stringify({ topic, ...record }) : line(topic, record));
  return withLog(settings, async (log) => {
    const filter = await openFilter(values, log, Date.now());
    const found = lastOf(count, print);
    const followings = await Promise.all(
      chosen.map(async (topic) => {
        const ends = await log.ends(topic);
        const onRecord = (record: Recorded) => {
          if (!filter.has(record.event)) return;
          found.add({ topic, ...record }, record.at.offset < ends[record.at.partition]!);
        };
        // a filter may leave none of the latest, so that all are read
        const reach = filter.isNarrow && count !== 0 ? undefined : count;
        const from = reach === undefined ? {} : { ...ends.map((end) => Math.max(0, end - reach)) };
        return log.follow(topic, from, onRecord, stop.signal);
      }),
    );
    await Promise.all(followings.map((following) => Promise.race([following.caughtUp, following.done])));
    found.release();
    if (!values.follow) stop.abort();
    await Promise.all(followings.map((following) => following.done));
    return 0;
  });
}

type Found = Recorded & { readonly topic: Topic };

/** Facts that follow from another have its time: then the topics in the order of the loop. */
const byTime = (a: Found, b: Found) =>
  a.event.time.localeCompare(b.event.time) || topicNames.indexOf(a.topic) - topicNames.indexOf(b.topic);

/**
 * Of what stood in the log already, the last `count` over all topics, by their time; then what comes. All at
 * once and as it is read when no count is given.
 */
function lastOf(count: number | undefined, print: (found: Found) => void) {
  if (count === undefined) return { add: print, release: () => {} };
  let [old, fresh]: [Found[], Found[]] = [[], []];
  let released = false;
  const trim = () => {
    old = old.sort(byTime).slice(Math.max(0, old.length - count));
  };
  return {
    add: (found: Found, isOld: boolean): void => {
      if (released) print(found);
      else (isOld ? old : fresh).push(found);
      if (old.length > 2 * count + 1_000) trim();
    },
    release: (): void => {
      trim();
      for (const found of [...old, ...fresh]) print(found);
      [old, fresh, released] = [[], [], true];
    },
  };
}

function asTopic(word: string): Topic {
  const topic = topicNames.find((name) => name === word);
  if (topic === undefined) throw new UsageError(`no topic '${word}'; one of: ${topicNames.join(', ')}`);
  return topic;
}

const line = (topic: Topic, { event, at }: Recorded): string =>
  `${event.time}  ${`${topic}/${at.partition}@${at.offset}`.padEnd(22)} ${event.type.padEnd(22)} ` +
  `${event.subject.padEnd(14)} ${excerpt(`${event.id} ${JSON.stringify(event.data)}`, 140)}`;
