import { logError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { Placed } from '../../../shared/views/testing/random-chains.ts';
import { PARTITIONS } from './random-turns.ts';

export type Starts = { readonly conversations: readonly number[]; readonly turns: readonly number[] };
export const untrimmed: Starts = { conversations: [0, 0], turns: [0, 0] };

/** A log with the first `count` records, apart from those that were trimmed. */
export function logWith(records: readonly Placed[], count: number, starts: Starts = untrimmed): EventLog {
  const of = (topic: string, partition: number) =>
    records.slice(0, count).filter((one) => one.topic === topic && one.record.at.partition === partition);
  const log: Partial<EventLog> = {
    logId: 'log',
    starts: async (topic) => (topic === 'training' ? [0] : [...starts[topic as keyof Starts]]),
    ends: async (topic) =>
      Array.from({ length: topic === 'training' ? 1 : PARTITIONS }, (_, n) => of(topic, n).length),
    read: async (topic, { partition, offset }) => {
      const found = of(topic, partition)[offset];
      if (found === undefined) throw logError('RecordGone', 'there is none');
      return found.record.event;
    },
  };
  return log as EventLog;
}

/** Trims everything that came before the record with this index. */
export const startsAt = (records: readonly Placed[], index: number): Starts => {
  const countOf = (topic: string, partition: number) =>
    records.slice(0, index).filter((one) => one.topic === topic && one.record.at.partition === partition)
      .length;
  const of = (topic: string) => [countOf(topic, 0), countOf(topic, 1)];
  return { conversations: of('conversations'), turns: of('turns') };
};

export const upToOf = (records: readonly Placed[]) => {
  const { conversations, turns } = startsAt(records, records.length);
  const training = records.filter(({ topic }) => topic === 'training').length;
  return { conversations, turns, training: [training] };
};

export const isBefore = (starts: Starts, records: readonly Placed[], id: string): boolean => {
  const { at } = records.find(
    ({ record: { event } }) => event.type === 'interaction.completed' && event.id === id,
  )!.record;
  return at.offset < starts.conversations[at.partition]!;
};
