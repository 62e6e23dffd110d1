import type { Topic } from '../../events/define-event.ts';
import { isLogError } from '../errors.ts';
import type { EventLog } from '../event-log.ts';
import type { ReadPartition, ReadTopics } from './snapshot-text.ts';

type Log = Pick<EventLog, 'read' | 'ends' | 'starts'>;

/** By topic, the offset up to which each partition was read. */
export type ReadUpTo = Readonly<Partial<Record<Topic, readonly number[]>>>;

/** Offsets before the end that are tried: transaction markers and unreadable records have no id. */
const TRIED = 16;

/**
 * What was read, with the id of the last record of each partition, by which `stillHolds` recognises it. Undefined:
 * no such record can be read.
 */
export async function readSoFar(log: Log, upTo: ReadUpTo): Promise<ReadTopics | undefined> {
  const topics = await Promise.all(
    (Object.entries(upTo) as [Topic, readonly number[]][]).map(async ([topic, offsets]) => {
      const starts = await log.starts(topic);
      const partitions = await Promise.all(
        offsets.map(async (to, partition): Promise<ReadPartition | undefined> => {
          const from = starts[partition] ?? 0;
          const last = await lastBefore(log, topic, { partition, from, to });
          return last === undefined ? undefined : { from, to, last };
        }),
      );
      return [topic, partitions] as const;
    }),
  );
  const isWhole = topics.every(([, partitions]) => partitions.every((one) => one !== undefined));
  return isWhole ? (Object.fromEntries(topics) as ReadTopics) : undefined;
}

/** Whether the log still holds everything that was read, and nothing else in its place. */
export async function stillHolds(log: Log, read: ReadTopics): Promise<boolean> {
  const starts = await heldStarts(log, read);
  const isUntrimmed = ([topic, partitions]: [string, readonly ReadPartition[]]): boolean =>
    partitions.every(({ from }, partition) => from === starts?.[topic as Topic]?.[partition]);
  return starts !== undefined && Object.entries(read).every(isUntrimmed);
}

/**
 * The first offsets of the log, if it still holds everything that was read, and nothing else in its place, apart from
 * first records that were trimmed. Undefined: it does not, or all records by which this is seen were trimmed.
 */
export async function heldStarts(log: Log, read: ReadTopics): Promise<ReadUpTo | undefined> {
  const topics = await Promise.all(
    (Object.entries(read) as [Topic, readonly ReadPartition[]][]).map(async ([topic, partitions]) => {
      const [ends, starts] = await Promise.all([log.ends(topic), log.starts(topic)]);
      if (ends.length !== partitions.length) return { topic, starts, held: [false] };
      const held = partitions.map(async ({ from, to, last }, partition) => {
        const start = starts[partition]!;
        if (start < from || start > to || to > ends[partition]!) return false;
        if (start === to && from < to) return undefined;
        return (await lastBefore(log, topic, { partition, from: start, to })) === last;
      });
      return { topic, starts, held: await Promise.all(held) };
    }),
  );
  const all = topics.flatMap(({ held }) => held);
  const isSeen = all.every((held) => held !== undefined) || hasWitness(read, topics);
  if (all.includes(false) || !isSeen) return undefined;
  return Object.fromEntries(topics.map(({ topic, starts }) => [topic, starts]));
}

/** Whether a record of what was read is still in the log. */
const hasWitness = (
  read: ReadTopics,
  topics: readonly { readonly topic: Topic; readonly held: readonly (boolean | undefined)[] }[],
): boolean =>
  topics.some(({ topic, held }) =>
    held.some((isHeld, partition) => isHeld === true && read[topic]![partition]!.last !== null),
  );

type Range = { readonly partition: number; readonly from: number; readonly to: number };

/** The id of the last record; null: there is no offset. Undefined: none of the last offsets has a readable record. */
async function lastBefore(
  log: Log,
  topic: Topic,
  { partition, from, to }: Range,
): Promise<string | null | undefined> {
  if (to <= from) return null;
  for (let offset = to - 1; offset >= from && offset >= to - TRIED; offset--) {
    const id = await idAt(log, topic, { partition, offset });
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Undefined: no record is there, or it does not parse. */
async function idAt(
  log: Log,
  topic: Topic,
  at: { readonly partition: number; readonly offset: number },
): Promise<string | undefined> {
  try {
    return (await log.read(topic, at)).id;
  } catch (error) {
    if (isLogError(error, 'RecordGone') || isLogError(error, 'BrokenRecord')) return undefined;
    throw error;
  }
}
