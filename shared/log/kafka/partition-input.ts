import type { Topic } from '../../events/define-event.ts';
import { unlessAborted, withDeadline } from '../../lang/async.ts';
import type { InputRecord } from '../fold-chunk.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import { chainedRecord } from './messages.ts';
import { watchHistory } from './same-history.ts';
import { skipTrimmed } from './skip-trimmed.ts';
import { openTopicReader } from './topic-reader.ts';

/** An input record with the fields that its chain covers. */
export type KafkaInput = InputRecord & { readonly type: string };

export type PartitionInput = {
  /** The next records, at most one chunk; none if none arrived within `waitMs` or the signal aborted. */
  readonly next: (waitMs: number, signal: AbortSignal) => Promise<readonly KafkaInput[]>;
  /** Removes the first `count` records of the last chunk. */
  readonly taken: (count: number) => void;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly topic: Topic;
  readonly partition: number;
  /** The first offset to read. */
  readonly from: number;
  /** All existing records were read. */
  readonly onIdle: () => void;
  /** The records from `from` up to `to` were trimmed; reading continues at `to`. */
  readonly onTrimmed: (from: number, to: number) => void;
};

/** Limits of one transaction, which costs about 15 ms, whatever its size. */
const chunk = { maxRecords: 400, maxCharacters: 4 * 2 ** 20 };
/** ms that a fetch waits for new records */
const pollMs = 500;

/** Reads ahead: it fetches the next records while the fold works on the previous records. */
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
    // The next call of `next` gets the error.
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
        const left = Math.max(0, deadline - performance.now());
        await withDeadline(unlessAborted(fetchAhead(), signal, done), left, done);
      }
      if (buffer.length < chunk.maxRecords) void fetchAhead();
      return signal.aborted ? [] : take();
    },
    taken: (count) => void buffer.splice(0, count),
    close: () => reader.close(),
  };
}

const done = (): void => undefined;
