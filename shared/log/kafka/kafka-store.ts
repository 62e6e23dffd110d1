import type { Topic } from '../../events/define-event.ts';
import type { Position } from '../../events/position.ts';
import { isLogError, logError } from '../errors.ts';
import { pause } from '../pause.ts';
import type { AppendQueue } from './append-queue.ts';
import type { KafkaConnection } from './connection.ts';
import type { GroupOffsets } from './group-offsets.ts';
import { errorType } from './kafka-errors.ts';
import type { RecordCache } from './record-cache.ts';
import type { TopicReader } from './topic-reader.ts';
import type { Troubles } from './troubles.ts';

/** What the parts of an open log share. */
export type KafkaStore = {
  readonly connection: KafkaConnection;
  readonly partitions: number;
  readonly maxRecordBytes: number;
  /** ms after which a member that shows no life loses its partitions */
  readonly sessionTimeoutMs: number;
  readonly queue: AppendQueue;
  /** For short questions: nothing here waits for records to come. */
  readonly query: TopicReader;
  readonly offsets: GroupOffsets;
  readonly recent: RecordCache;
  readonly troubles: Troubles;
  /** Repeats a question over an outage until it is answered or the signal aborts. */
  readonly untilAnswered: <Answer>(ask: () => Promise<Answer>, signal: AbortSignal) => Promise<Answer>;
};

/** @throws LogUnavailable as soon as the signal aborts: a broker that hangs is not waited for */
export async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(logError('LogUnavailable', 'no answer before the end'));
  aborted.promise.catch(() => undefined);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (let delayMs = 50; ; delayMs = Math.min(2 * delayMs, 1_000)) {
      try {
        return await Promise.race([ask(), aborted.promise]);
      } catch (error) {
        if (signal.aborted || !isLogError(error, 'LogUnavailable')) throw error;
        await pause(delayMs, signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The body of one record, or null where there is none that was committed. @throws LogUnavailable */
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
    // A broker gives one batch at least, however little is asked for.
    const from = new Map([[at.partition, at.offset]]);
    const [fetched] = await store.query.fetch(name, from, { waitMs: 0, maxBytes: 1 });
    // What a broker that throttles its clients answers tells nothing of the record.
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
