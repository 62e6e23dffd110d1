import type { Topic } from '../../events/define-event.ts';
import { parseEvent } from '../../events/parse-event.ts';
import { logError } from '../errors.ts';
import type { Following, Offsets, Recorded } from '../event-log.ts';
import { newerSchema } from '../fold-chunk.ts';
import type { StoredRecord } from './protocol.ts';
import type { Store } from './store.ts';
import { nextEnds } from './wait.ts';

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

/** A reader of its own, without group or state: what a process sees of a topic in its memory. */
export function followTopic(store: Store, { topic, from, onRecord, onRejected, signal }: Options): Following {
  const next = Array.from({ length: store.partitions }, (_, partition) => from[partition] ?? 0);
  let waiters: Waiter[] = [];
  let over: { readonly error: unknown } | undefined;

  const settleWaiters = () => {
    waiters = waiters.filter(({ ends, resolve }) => {
      const reached = ends.every((end, partition) => next[partition]! >= end);
      if (reached) resolve();
      return !reached;
    });
  };

  const reach = async (): Promise<void> => {
    const ends = await store.call('ends', { topic });
    if (over !== undefined) throw over.error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiters.push({ ends, resolve, reject });
    settleWaiters();
    return promise;
  };

  const deliver = (partition: number, record: StoredRecord) => {
    const at = { partition, offset: record.offset };
    const parsed = parseEvent(record.body);
    if (parsed.kind === 'newer') throw logError('NewerSchema', newerSchema(topic, at, parsed));
    if (parsed.kind === 'broken') onRejected({ topic, ...at, error: parsed.error });
    next[partition] = record.offset + 1;
    if (parsed.kind === 'event') onRecord({ event: parsed.event, at });
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const ends = store.ends(topic);
      const behind = next.flatMap((offset, partition) => (offset < ends[partition]! ? [partition] : []));
      settleWaiters();
      if (behind.length === 0) {
        await nextEnds(
          store,
          () => store.ends(topic).some((end, partition) => end > next[partition]!),
          signal,
        );
        continue;
      }
      for (const partition of behind) {
        const records = await store.call('fetch', { topic, partition, from: next[partition]!, ...chunk });
        for (const record of records) {
          if (signal.aborted) return;
          deliver(partition, record);
        }
      }
    }
  };

  const ending = (error: unknown) => {
    over = { error };
    for (const { reject } of waiters.splice(0)) reject(error);
  };
  const done = Promise.race([run(), store.broken]).then(
    () => ending(signal.reason),
    (error: unknown) => {
      ending(error);
      if (!signal.aborted) throw error;
    },
  );
  const caughtUp = reach();
  // Whoever does not ask need not hear; whoever awaits them still does.
  caughtUp.catch(() => undefined);
  done.catch(() => undefined);
  return { caughtUp, reachEnd: reach, done };
}

const chunk = { maxRecords: 200, maxBytes: 4 * 2 ** 20 };
