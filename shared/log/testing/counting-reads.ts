import type { EventLog, Recorded } from '../event-log.ts';

/** The same log, and how many records its followers have received. */
export function countingReads(log: EventLog): { readonly log: EventLog; readonly count: () => number } {
  let count = 0;
  const follow: EventLog['follow'] = (topic, from, onRecord, { signal, wants }) => {
    const counted = (record: Recorded): void => {
      count += 1;
      onRecord(record);
    };
    return log.follow(topic, from, counted, { signal, wants });
  };
  return { log: { ...log, follow }, count: () => count };
}
