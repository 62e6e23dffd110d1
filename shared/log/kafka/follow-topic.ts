import type { Topic } from '../../events/define-event.ts';
import { parseEvent } from '../../events/parse-event.ts';
import { isLogError, logError } from '../errors.ts';
import type { Following, Offsets, Recorded } from '../event-log.ts';
import { newerSchema } from '../fold-chunk.ts';
import { pause } from '../pause.ts';
import { errorType } from './kafka-errors.ts';
import type { KafkaStore } from './kafka-store.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import { openTopicReader, type TopicReader } from './topic-reader.ts';

export type RejectedRecord = {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  readonly error: string;
};

type Options = {
  readonly topic: Topic;
  readonly from: Offsets;
  readonly onRecord: (record: Recorded) => void;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly signal: AbortSignal;
};

type Waiter = {
  readonly ends: readonly number[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** ms that a fetch waits for something to come */
const waitMs = 500;

/**
 * A reader of its own, without group or state. Goes on over an outage. Its end is the last record's, open
 * transactions included: what was committed just before is waited for, though its marker may still be on the
 * way.
 */
export function followTopic(
  store: KafkaStore,
  { topic, from, onRecord, onRejected, signal }: Options,
): Following {
  const name = store.connection.topicName(topic);
  const next = new Map(
    Array.from({ length: store.partitions }, (_, partition) => [partition, from[partition] ?? 0]),
  );
  const reader = openTopicReader(store.connection.kafka);
  let waiters: Waiter[] = [];
  let over: { readonly error: unknown } | undefined;

  const settleWaiters = () => {
    waiters = waiters.filter(({ ends, resolve }) => {
      const reached = ends.every((end, partition) => next.get(partition)! >= end);
      if (reached) resolve();
      return !reached;
    });
  };

  const reach = async (): Promise<void> => {
    const ends = await store.untilAnswered(() => store.query.offsets(name, 'end'), signal);
    if (over !== undefined) throw over.error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiters.push({ ends, resolve, reject });
    settleWaiters();
    return promise;
  };

  const deliver = (partition: number, message: RawMessage) => {
    const at = { partition, offset: Number(message.offset) };
    const parsed = parseEvent(message.value?.toString('utf8') ?? '');
    if (parsed.kind === 'newer') throw logError('NewerSchema', newerSchema(topic, at, parsed));
    if (parsed.kind === 'broken') onRejected({ topic, ...at, error: parsed.error });
    if (parsed.kind === 'event') onRecord({ event: parsed.event, at });
  };

  const run = async (): Promise<void> => {
    for (let delayMs = 50; !signal.aborted; ) {
      try {
        for (const { partition, records, next: after } of await reader.fetch(name, next, { waitMs })) {
          for (const message of records) {
            if (signal.aborted) return;
            deliver(partition, message);
          }
          next.set(partition, after);
        }
        settleWaiters();
        delayMs = 50;
      } catch (error) {
        if (signal.aborted) return;
        if (!isLogError(error, 'LogUnavailable')) throw error;
        if (errorType(error) === 'OFFSET_OUT_OF_RANGE') await skipTrimmed(reader, name, next);
        await pause(delayMs, signal);
        delayMs = Math.min(2 * delayMs, 1_000);
      }
    }
  };

  const ending = (error: unknown) => {
    over = { error };
    for (const { reject } of waiters.splice(0)) reject(error);
  };
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  // A fetch that waits is not waited for.
  const done = Promise.race([run(), aborted])
    .then(
      () => ending(signal.reason),
      (error: unknown) => {
        ending(error);
        if (!signal.aborted) throw error;
      },
    )
    .finally(() => void reader.close());
  const caughtUp = reach();
  // Whoever does not ask need not hear; whoever awaits them still does.
  caughtUp.catch(() => undefined);
  done.catch(() => undefined);
  return { caughtUp, reachEnd: reach, done };
}

/** Records that were trimmed are gone; an offset beyond the end means that this is another log. */
async function skipTrimmed(reader: TopicReader, name: string, next: Map<number, number>): Promise<void> {
  const [starts, ends] = [await reader.offsets(name, 'start'), await reader.offsets(name, 'end')];
  for (const [partition, at] of next) {
    if (at > ends[partition]!) {
      throw logError('LogMismatch', `${name}/${partition} ends at ${ends[partition]}, before ${at}`);
    }
    next.set(partition, Math.max(at, starts[partition]!));
  }
}
