import { z } from 'zod';
import { catalogue } from '../../../shared/events/catalogue.ts';
import { type Topic, topics as topicNames } from '../../../shared/events/define-event.ts';
import type { Offsets, Recorded } from '../../../shared/log/event-log.ts';
import { type Command, UsageError } from '../command.ts';
import { describeCatalogue } from '../describe-catalogue.ts';
import { readOptions } from '../options.ts';
import { excerpt, formatTable } from '../table.ts';
import { withLog } from '../with-log.ts';

const tailOptions = {
  follow: { type: 'boolean', short: 'f' },
  json: { type: 'boolean' },
  type: { type: 'string', multiple: true },
  key: { type: 'string' },
  last: { type: 'string', short: 'n' },
} as const;

export const topics: Command = {
  name: 'topics',
  usage: 'list | describe | tail [TOPIC] [--follow] [--json]',
  about: 'what stands in the log',
  run: async ([action = 'list', ...rest]) => {
    if (action === 'list') return list(rest);
    if (action === 'describe') return describe(rest);
    if (action === 'tail') return tail(rest);
    throw new UsageError(`topics ${action}? one of: list, describe, tail`);
  },
};

async function list(argv: readonly string[]): Promise<number> {
  const { dataFolder } = readOptions(argv, {});
  return withLog(dataFolder, async (log) => {
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
  const { values, words, dataFolder } = readOptions(argv, tailOptions);
  const chosen = words.length === 0 ? topicNames : words.map(asTopic);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const wanted = ({ event }: Recorded) =>
    (values.type === undefined || values.type.includes(event.type)) &&
    (values.key === undefined || event.subject === values.key);
  return withLog(dataFolder, async (log) => {
    const followings = await Promise.all(
      chosen.map(async (topic) => {
        const from = await startOf(await log.ends(topic), values.last ?? (values.follow ? '0' : undefined));
        const print = (record: Recorded) => {
          if (wanted(record))
            console.log(values.json ? JSON.stringify({ topic, ...record }) : line(topic, record));
        };
        return log.follow(topic, from, print, stop.signal);
      }),
    );
    if (!values.follow) {
      await Promise.all(followings.map((following) => Promise.race([following.caughtUp, following.done])));
      stop.abort();
    }
    await Promise.all(followings.map((following) => following.done));
    return 0;
  });
}

/** The offsets from which the last `count` records of each partition are read; all of them when it is left out. */
function startOf(ends: readonly number[], count: string | undefined): Offsets {
  if (count === undefined) return {};
  return Object.fromEntries(ends.map((end, partition) => [partition, Math.max(0, end - Number(count))]));
}

function asTopic(word: string): Topic {
  const topic = topicNames.find((name) => name === word);
  if (topic === undefined) throw new UsageError(`no topic '${word}'; one of: ${topicNames.join(', ')}`);
  return topic;
}

const line = (topic: Topic, { event, at }: Recorded): string =>
  `${event.time}  ${`${topic}/${at.partition}@${at.offset}`.padEnd(22)} ${event.type.padEnd(22)} ` +
  `${event.subject.padEnd(14)} ${excerpt(`${event.id} ${JSON.stringify(event.data)}`, 140)}`;
