import type { Position } from '../../events/position.ts';
import { aborted, doubling, pause, unlessAborted } from '../../lang/async.ts';
import { isLogError } from '../errors.ts';
import type { Following } from '../event-log.ts';
import { deliver, type FollowOptions, openFollowing } from '../following.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import { watchHistory } from './same-history.ts';
import { skipTrimmed } from './skip-trimmed.ts';
import { type FetchedPartition, openTopicReader } from './topic-reader.ts';

/** ms that a fetch waits for new records */
const waitMs = 500;

/**
 * Reads a topic with a separate connection, without group or state, and survives outages. The end includes open
 * transactions: a recent commit may still lack its marker, and the reader must wait for it. Rejects with
 * RecordsLost if the log lost records that this reader has delivered.
 */
export function followTopic(store: KafkaStore, options: FollowOptions): Following {
  const { topic, from, wants, signal } = options;
  const name = store.connection.topicName(topic);
  const next = new Map(
    Array.from({ length: store.partitions }, (_, partition) => [partition, from[partition] ?? 0]),
  );
  const stopped = new Set<number>();
  const going = (): Map<number, number> =>
    new Map([...next].filter(([partition]) => !stopped.has(partition)));
  const reader = openTopicReader(store.connection.kafka);
  const history = watchHistory(reader, name);

  /** A record without a type header must be parsed to find its type. */
  const isWanted = ({ key, headers }: RawMessage, at: Position): boolean => {
    const type = headers?.type?.toString('utf8');
    if (wants === undefined || type === undefined) return true;
    if (typeof wants !== 'function') return wants.has(type);
    return wants({ type, subject: key?.toString('utf8') ?? '', at });
  };

  /** False: the partition stops before this record. */
  const pass = (record: RawMessage, at: Position): boolean =>
    !isWanted(record, at) ||
    deliver(options, at, { body: record.value?.toString('utf8') ?? '', time: Number(record.timestamp) });
  const passAll = ({ partition, records, next: after }: FetchedPartition): void => {
    for (const record of records) {
      if (signal.aborted) return;
      const at = { partition, offset: Number(record.offset) };
      if (!pass(record, at)) return void stopped.add(partition);
      next.set(partition, at.offset + 1);
    }
    next.set(partition, after);
  };

  const run = async (progressed: () => void): Promise<void> => {
    let waits = doubling(50, 1_000);
    while (!signal.aborted) {
      try {
        const from = going();
        // without partitions a fetch does not wait
        if (from.size === 0) return await aborted(signal);
        for (const fetched of await reader.fetch(name, from, { waitMs })) {
          await history.check(fetched);
          passAll(fetched);
        }
        progressed();
        waits = doubling(50, 1_000);
      } catch (error) {
        if (signal.aborted) return;
        if (!isLogError(error, 'LogUnavailable')) throw error;
        if (errorType(error) === 'OFFSET_OUT_OF_RANGE') {
          for (const [partition, at] of await skipTrimmed(reader, name, going())) next.set(partition, at);
        }
        await pause(waits.next().value, signal);
      }
    }
  };

  return openFollowing(
    {
      partitions: store.partitions,
      ends: () => store.untilAnswered(() => store.query.offsets(name, 'end'), signal),
      next: (partition) => next.get(partition)!,
      hasStopped: (partition) => stopped.has(partition),
      // Do not wait for a pending fetch.
      run: (progressed) =>
        unlessAborted(run(progressed), signal, () => {}).finally(() => void reader.close()),
    },
    signal,
  );
}
