import type { Topic } from '../events/define-event.ts';
import { parseEvent } from '../events/parse-event.ts';
import type { Position } from '../events/position.ts';
import { logError } from './errors.ts';
import type { EventLog, Following, NewerRecord, Offsets, Recorded, Wanted } from './event-log.ts';
import { newerSchema } from './fold-chunk.ts';
import type { Lifetime } from './log-lifetime.ts';

/** A record that does not parse. */
export type RejectedRecord = {
  readonly topic: Topic;
  readonly partition: number;
  readonly offset: number;
  readonly error: string;
};

/** Records `from` up to `to` were deleted before a group read them; the group skipped them. */
export type TrimmedRecords = {
  readonly group: string;
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
};

/** Records `from` up to `to` were appended, and are no longer in the log. */
export type LostRecords = Omit<TrimmedRecords, 'group'>;

export type FollowOptions = {
  readonly topic: Topic;
  readonly from: Offsets;
  readonly onRecord: (record: Recorded) => void;
  readonly wants: Wanted | undefined;
  readonly onNewer: ((newer: NewerRecord) => void) | undefined;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly signal: AbortSignal;
};

/** A log's `follow`; readers stop when the log closes. */
export const followWithin =
  (
    lifetime: Lifetime,
    onRejected: FollowOptions['onRejected'],
    start: (options: FollowOptions) => Following,
  ): EventLog['follow'] =>
  (topic, from, onRecord, { signal, wants, onNewer }) => {
    lifetime.requireOpen();
    const following = start({
      topic,
      from,
      onRecord,
      onRejected,
      wants,
      onNewer,
      signal: lifetime.orClosed(signal),
    });
    void lifetime.track(following.done);
    return following;
  };

/**
 * Delivers one record. False: it is newer than this program, and its partition stops before it.
 * @throws NewerSchema if nobody asked to be told of such a record
 */
export function deliver(
  {
    topic,
    onRecord,
    onRejected,
    onNewer,
  }: Pick<FollowOptions, 'topic' | 'onRecord' | 'onRejected' | 'onNewer'>,
  at: Position,
  { body, time }: { readonly body: string; readonly time: number },
): boolean {
  const parsed = parseEvent(body);
  if (parsed.kind === 'newer') {
    const reason = newerSchema(topic, at, parsed);
    if (onNewer === undefined) throw logError('NewerSchema', reason);
    const { type, version, known } = parsed;
    onNewer({ topic, at, type, version, known, reason });
    return false;
  }
  if (parsed.kind === 'broken') onRejected({ topic, ...at, error: parsed.error });
  if (parsed.kind === 'event') onRecord({ event: parsed.event, at, time });
  return true;
}

type Waiter = {
  readonly ends: readonly number[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

type Follower = {
  readonly partitions: number;
  readonly ends: () => Promise<readonly number[]>;
  /** The offset in a partition up to which all records were delivered. */
  readonly next: (partition: number) => number;
  /** Whether a partition stopped: then there is nothing more to wait for. */
  readonly hasStopped: (partition: number) => boolean;
  /** Reads until the signal aborts; calls `progressed` after progress. */
  readonly run: (progressed: () => void) => Promise<void>;
};

/** The state of a running follower: whether it reached an end, and how it ended. */
export function openFollowing(
  { partitions, ends: endsNow, next, hasStopped, run }: Follower,
  signal: AbortSignal,
): Following {
  let waiters: Waiter[] = [];
  let over: { readonly error: unknown } | undefined;

  const settleWaiters = () => {
    waiters = waiters.filter(({ ends, resolve }) => {
      const reached = ends.every((end, partition) => hasStopped(partition) || next(partition) >= end);
      if (reached) resolve();
      return !reached;
    });
  };

  const reach = async (): Promise<void> => {
    const ends = await endsNow();
    if (over !== undefined) throw over.error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiters.push({ ends, resolve, reject });
    settleWaiters();
    return promise;
  };

  const ending = (error: unknown) => {
    over = { error };
    for (const { reject } of waiters.splice(0)) reject(error);
  };
  const done = run(settleWaiters).then(
    () => ending(signal.reason),
    (error: unknown) => {
      ending(error);
      if (!signal.aborted) throw error;
    },
  );
  const caughtUp = reach();
  // Callers may ignore these promises; a caller that awaits them still gets the error.
  caughtUp.catch(() => undefined);
  done.catch(() => undefined);
  const position = () => Array.from({ length: partitions }, (_, partition) => next(partition));
  return { caughtUp, reachEnd: reach, position, done };
}
