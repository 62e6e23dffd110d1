import { logError } from '../errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import type { FetchedPartition } from './topic-reader.ts';

/** One record of a group's topic of rows; null: a tombstone. */
export type StoredRow = { readonly key: string; readonly value: string | null };

type Place = { readonly topic: string; readonly partition: number };

export type FollowedRows = {
  /**
   * Reads up to an end that holds. The state is then the one at that end, although compaction goes on: what it has
   * removed before the last fetch was replaced by a record before that end.
   */
  readonly toPresent: () => AsyncGenerator<readonly StoredRow[]>;
  /**
   * Reads up to `end`. Undefined: compaction has removed records on the way, perhaps in favour of records after `end`, so
   * the state at `end` is unknown; `toPresent` may follow.
   */
  readonly to: (end: number) => Promise<readonly StoredRow[] | undefined>;
};

/** Reads a partition of a compacted topic, from its start. */
export function followRows(
  query: KafkaStore['query'],
  { topic, partition }: Place,
  start: number,
): FollowedRows {
  let at = start;
  /** Undefined: the broker throttles its clients, and answered nothing. */
  const fetch = async (from: number): Promise<FetchedPartition | undefined> =>
    (await query.fetch(topic, new Map([[partition, from]]), { waitMs: 0 }))[0];
  return {
    toPresent: async function* () {
      for (;;) {
        const fetched = await fetch(at);
        if (fetched === undefined) continue;
        at = fetched.next;
        yield fetched.records.map(rowOf);
        if (at >= fetched.stable) return;
      }
    },
    to: async (end) => {
      const rows: StoredRow[] = [];
      for (let next = at; next < end; ) {
        const fetched = await fetch(next);
        if (fetched === undefined) continue;
        if (!fetched.isDense) return undefined;
        if (fetched.end < end) throw endsBefore(topic, partition, fetched.end, end);
        rows.push(...fetched.records.filter(({ offset }) => Number(offset) < end).map(rowOf));
        next = fetched.next;
      }
      at = Math.max(at, end);
      return rows;
    },
  };
}

/** The cluster lost records since the end was noted, or a new leader does not know them yet. */
export const endsBefore = (name: string, partition: number, end: number, noted: number): Error =>
  logError(
    'LogUnavailable',
    `${name}/${partition} ends at ${end}, and ended at ${noted} a moment ago: try again`,
  );

const rowOf = ({ key, value }: RawMessage): StoredRow => ({
  key: key?.toString('utf8') ?? '',
  value: value === null ? null : value.toString('utf8'),
});
