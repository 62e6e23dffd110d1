import type { Topic } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import { doubling, retry, unlessAborted } from '../../lang/async.ts';
import { isLogError, logError } from '../errors.ts';
import type { Troubles } from '../troubles.ts';
import type { AppendQueue } from './append-queue.ts';
import type { KafkaConnection } from './connection.ts';
import type { GroupOffsets } from './group-offsets.ts';
import { errorType } from './kafka-errors.ts';
import type { RecordCache } from './record-cache.ts';
import type { TopicReader } from './topic-reader.ts';

/** Shared by the parts of an open log. */
export type KafkaStore = {
  readonly connection: KafkaConnection;
  readonly partitions: number;
  readonly maxRecordBytes: number;
  /** ms after which an unresponsive member loses its partitions */
  readonly sessionTimeoutMs: number;
  readonly queue: AppendQueue;
  /** For short queries, which never wait for new records. */
  readonly query: TopicReader;
  readonly offsets: GroupOffsets;
  readonly recent: RecordCache;
  readonly troubles: Troubles;
  /** Repeats a query through an outage until it is answered or the signal aborts. */
  readonly untilAnswered: <Answer>(ask: () => Promise<Answer>, signal: AbortSignal) => Promise<Answer>;
};

/** @throws LogUnavailable as soon as the signal aborts: it does not wait for a broker that hangs */
export async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  const askOnce = () =>
    unlessAborted(ask(), signal, () => {
      throw logError('LogUnavailable', 'no answer before the end');
    });
  const onFailure = (error: unknown) => {
    if (!isLogError(error, 'LogUnavailable')) throw error;
  };
  return retry(askOnce, { waits: doubling(50, 1_000), onFailure, signal });
}

/** The body of one record; null: no committed record is there. @throws LogUnavailable */
export async function readBody(
  store: Pick<KafkaStore, 'recent' | 'partitions' | 'connection' | 'query'>,
  topic: Topic,
  at: Position,
): Promise<string | null> {
  const cached = store.recent.get(topic, at);
  if (cached !== undefined) return cached;
  if (at.partition >= store.partitions) return null;
  const name = store.connection.topicName(topic);
  try {
    // A broker returns at least one batch, whatever the limit.
    const from = new Map([[at.partition, at.offset]]);
    const [fetched] = await store.query.fetch(name, from, { waitMs: 0, maxBytes: 1 });
    // A broker that throttles its clients answers without saying anything about the record.
    if (fetched === undefined) throw logError('LogUnavailable', `reading ${name}: an answer without records`);
    const found = fetched.records.find(({ offset }) => Number(offset) === at.offset);
    for (const { offset, value } of fetched.records) {
      store.recent.set(topic, { ...at, offset: Number(offset) }, value?.toString('utf8') ?? '');
    }
    return found === undefined ? null : (found.value?.toString('utf8') ?? '');
  } catch (error) {
    if (errorType(error) === 'OFFSET_OUT_OF_RANGE') return null;
    throw error;
  }
}

export function recordGone(topic: Topic, { partition, offset }: Position): Error {
  return logError('RecordGone', `there is no record ${topic}/${partition}/${offset}`);
}
