import type { Position } from '../../events/position.ts';
import { isLogError } from '../errors.ts';
import type { Following } from '../event-log.ts';
import { deliver, type FollowOptions, openFollowing } from '../following.ts';
import { pause } from '../pause.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import { watchHistory } from './same-history.ts';
import { skipTrimmed } from './skip-trimmed.ts';
import { openTopicReader } from './topic-reader.ts';

/** ms that a fetch waits for something to come */
const waitMs = 500;

/**
 * A reader of its own, without group or state. Goes on over an outage. Its end is the last record's, open
 * transactions included: what was committed just before is waited for, though its marker may still be on the
 * way. Rejects with RecordsLost where the log lost what was read: the reader's view is of another history.
 */
export function followTopic(store: KafkaStore, options: FollowOptions): Following {
  const { topic, from, wants, signal } = options;
  const name = store.connection.topicName(topic);
  const next = new Map(
    Array.from({ length: store.partitions }, (_, partition) => [partition, from[partition] ?? 0]),
  );
  const reader = openTopicReader(store.connection.kafka);
  const history = watchHistory(reader, name);

  /** Without a header nobody knows its type: then its body tells. */
  const isWanted = ({ key, headers }: RawMessage, at: Position): boolean => {
    const type = headers?.type?.toString('utf8');
    if (wants === undefined || type === undefined) return true;
    return wants({ type, subject: key?.toString('utf8') ?? '', at });
  };

  const run = async (progressed: () => void): Promise<void> => {
    for (let delayMs = 50; !signal.aborted; ) {
      try {
        for (const fetched of await reader.fetch(name, next, { waitMs })) {
          const { partition, records, next: after } = fetched;
          await history.check(fetched);
          for (const record of records) {
            if (signal.aborted) return;
            const at = { partition, offset: Number(record.offset) };
            if (!isWanted(record, at)) continue;
            const body = record.value?.toString('utf8') ?? '';
            deliver(options, at, { body, time: Number(record.timestamp) });
          }
          next.set(partition, after);
        }
        progressed();
        delayMs = 50;
      } catch (error) {
        if (signal.aborted) return;
        if (!isLogError(error, 'LogUnavailable')) throw error;
        if (errorType(error) === 'OFFSET_OUT_OF_RANGE') {
          for (const [partition, at] of await skipTrimmed(reader, name, next)) next.set(partition, at);
        }
        await pause(delayMs, signal);
        delayMs = Math.min(2 * delayMs, 1_000);
      }
    }
  };

  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return openFollowing(
    {
      ends: () => store.untilAnswered(() => store.query.offsets(name, 'end'), signal),
      next: (partition) => next.get(partition)!,
      // A fetch that waits is not waited for.
      run: (progressed) => Promise.race([run(progressed), aborted]).finally(() => void reader.close()),
    },
    signal,
  );
}
