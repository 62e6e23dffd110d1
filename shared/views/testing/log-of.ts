import type { Topic } from '../../events/define-event.ts';
import { logError } from '../../log/errors.ts';
import type { EventLog, Recorded } from '../../log/event-log.ts';
import type { Placed } from './random-chains.ts';

/** A log of one partition with these records, for readers. Its events need not be valid. */
export function logOf(records: readonly Placed[]): EventLog {
  const of = (topic: Topic): readonly Recorded[] =>
    records.filter((one) => one.topic === topic).map(({ record }) => record);
  const follow: EventLog['follow'] = (topic, from, onRecord, { wants }) => {
    for (const record of of(topic).slice(from[0] ?? 0)) {
      const { event, at } = record;
      const isWanted = typeof wants === 'function' ? wants({ ...event, at }) : wants?.has(event.type);
      if (isWanted ?? true) onRecord(record);
    }
    return {
      caughtUp: Promise.resolve(),
      reachEnd: async () => {},
      position: () => [of(topic).length],
      done: Promise.resolve(),
    };
  };
  const log: Partial<EventLog> = {
    logId: 'log',
    starts: async () => [0],
    ends: async (topic) => [of(topic).length],
    read: async (topic, { offset }) => {
      const found = of(topic)[offset];
      if (found === undefined) throw logError('RecordGone', 'there is none');
      return found.event;
    },
    follow,
  };
  return log as EventLog;
}
