import type { Topic } from '../../events/define-event.ts';
import type { InputRecord } from '../fold-chunk.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import { chainedRecord } from './messages.ts';
import { watchHistory } from './same-history.ts';
import { skipTrimmed } from './skip-trimmed.ts';
import { openTopicReader } from './topic-reader.ts';

/** As a fold reads it, and as its chain covers it. */
export type KafkaInput = InputRecord & { readonly type: string };

export type PartitionInput = {
  /**
   * The next records, at most a chunk of them; none if nothing came within `waitMs` or the signal aborted.
   */
  readonly next: (waitMs: number, signal: AbortSignal) => Promise<readonly KafkaInput[]>;
  /** So many of the last chunk are done with. */
  readonly taken: (count: number) => void;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly topic: Topic;
  readonly partition: number;
  /** The first offset to read. */
  readonly from: number;
  /** All was read that there is. */
  readonly onIdle: () => void;
  /** Records that were to be read are gone; it goes on at `to`. */
  readonly onTrimmed: (from: number, to: number) => void;
};

/** A transaction costs about 15 ms, whatever is in it. */
const chunk = { maxRecords: 400, maxCharacters: 4 * 2 ** 20 };
/** ms that a fetch waits for something to come */
const pollMs = 500;

/** Reads ahead: the next records come up while the ones before are folded and committed. */
export function openPartitionInput(
  store: KafkaStore,
  { topic, partition, from, onIdle, onTrimmed }: Options,
): PartitionInput {
  const reader = openTopicReader(store.connection.kafka);
  const name = store.connection.topicName(topic);
  const history = watchHistory(reader, name);
  const buffer: KafkaInput[] = [];
  let position = from;
  let ahead: Promise<void> | undefined;

  const fetchOrSkip = async () => {
    const from = new Map([[partition, position]]);
    try {
      return (await reader.fetch(name, from, { waitMs: pollMs }))[0];
    } catch (error) {
      if (errorType(error) !== 'OFFSET_OUT_OF_RANGE') throw error;
      const to = (await skipTrimmed(reader, name, from)).get(partition)!;
      if (to > position) onTrimmed(position, to);
      position = to;
      return undefined;
    }
  };
  const fetch = async (): Promise<void> => {
    const fetched = await fetchOrSkip();
    if (fetched === undefined) return;
    if (fetched.records.length === 0 && buffer.length === 0) onIdle();
    await history.check(fetched);
    for (const raw of fetched.records) {
      const record = chainedRecord(raw);
      store.recent.set(topic, { partition, offset: record.offset }, record.body);
      buffer.push(record);
    }
    position = fetched.next;
  };
  const fetchAhead = (): Promise<void> => {
    ahead ??= fetch().finally(() => {
      ahead = undefined;
    });
    // Whoever asks next hears of it.
    ahead.catch(() => undefined);
    return ahead;
  };

  const take = (): KafkaInput[] => {
    let count = 0;
    let characters = 0;
    while (count < Math.min(buffer.length, chunk.maxRecords) && characters < chunk.maxCharacters)
      characters += buffer[count++]!.body.length;
    return buffer.slice(0, count);
  };

  return {
    next: async (waitMs, signal) => {
      const deadline = performance.now() + waitMs;
      while (buffer.length === 0 && !signal.aborted && performance.now() < deadline) {
        await orUntil(fetchAhead(), deadline, signal);
      }
      if (buffer.length < chunk.maxRecords) void fetchAhead();
      return signal.aborted ? [] : take();
    },
    taken: (count) => void buffer.splice(0, count),
    close: () => reader.close(),
  };
}

/** Waits for the fetch, but not beyond the deadline or the signal; its failure is thrown. */
async function orUntil(fetching: Promise<void>, deadline: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const finish = () => resolve();
  const timer = setTimeout(finish, Math.max(0, deadline - performance.now()));
  signal.addEventListener('abort', finish);
  try {
    await Promise.race([fetching, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', finish);
  }
}
