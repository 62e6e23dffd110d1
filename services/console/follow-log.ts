import { type Topic, topics } from '../../shared/events/define-event.ts';
import type { Position } from '../../shared/events/position.ts';
import { pause } from '../../shared/lang/async.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { EventLog, Following, NewerRecord, Offsets, Recorded } from '../../shared/log/event-log.ts';
import { endsOfAll, readToEnd } from '../../shared/log/read-topic.ts';
import type { ReadUpTo } from '../../shared/log/snapshots/read-so-far.ts';

type Options = {
  readonly log: EventLog;
  /** Where the model's stored state ends. */
  readonly from?: ReadUpTo;
  readonly onRecord: (record: Recorded, topic: Topic) => void;
  /** Called after records were read, at most once per `refreshMs`. */
  readonly onRound: () => void;
  /** Called once for each partition that stops. */
  readonly onStopped?: (newer: NewerRecord) => void;
  readonly refreshMs: number;
  readonly signal: AbortSignal;
};

/** In the order of the loop: causes come before their effects. */
const loop = ['conversations', 'turns', 'training'] as const;
type LoopTopic = (typeof loop)[number];

export type LogReader = {
  /** From 0 to 1: the part of the log that was read at the start. */
  readonly progress: () => number;
  readonly isCaughtUp: () => boolean;
  /** By topic, the offset up to which each partition was passed to `onRecord`. */
  readonly upTo: () => ReadUpTo;
  /**
   * Where partitions stopped, because the record there is newer than this program. What follows from unread records may
   * have been passed all the same, so a state from now on is not whole.
   */
  readonly stopped: () => readonly NewerRecord[];
  /** Rejects if the log is broken. */
  readonly done: Promise<void>;
};

/** Reads all topics, and goes on with new records, so that causes come before their effects. */
export function followLog(options: Options): LogReader {
  const upTo: Partial<Record<Topic, number[]>> = Object.fromEntries(
    Object.entries(options.from ?? {}).map(([topic, offsets]) => [topic, [...offsets]]),
  );
  const passed = (topic: Topic, { partition, offset }: Position): void => {
    upTo[topic]![partition] = offset + 1;
  };
  const stopped = new Map<string, NewerRecord>();
  const onNewer = (newer: NewerRecord): void => {
    const place = `${newer.topic}/${newer.at.partition}`;
    if (stopped.has(place)) return;
    stopped.set(place, newer);
    options.onStopped?.(newer);
  };
  /** The end of a partition for this program. */
  const endOf = (topic: Topic, end: number, partition: number): number =>
    Math.min(end, stopped.get(`${topic}/${partition}`)?.at.offset ?? end);
  let read = 0;
  let total = 1;
  let isCaughtUp = false;
  const run = async (): Promise<void> => {
    const { log, signal } = options;
    const ends = { ...(await endsOfAll(log)), 'dead-letters': await log.ends('dead-letters') };
    total = Math.max(1, sum(Object.values(ends).flat()) - sum(Object.values(upTo).flat()));
    const onRecord = (record: Recorded, topic: Topic): void => {
      read += 1;
      options.onRecord(record, topic);
      passed(topic, record.at);
    };
    for (const topic of [...loop, 'dead-letters'] as const) {
      const from = { ...upTo[topic] };
      // also the partitions without records, which a stored state has to name
      upTo[topic] = ends[topic].map((_, partition) => from[partition] ?? 0);
      const until = ends[topic];
      await readToEnd(log, topic, (record) => onRecord(record, topic), { from, until, signal, onNewer });
      if (signal.aborted) return;
      upTo[topic] = until.map((end, partition) => endOf(topic, end, partition));
    }
    isCaughtUp = true;
    options.onRound();
    await goOn({ ...options, onRecord, onNewer }, upTo as Readonly<Record<Topic, readonly number[]>>);
  };
  return {
    progress: () => (isCaughtUp ? 1 : Math.min(0.999, read / total)),
    isCaughtUp: () => isCaughtUp,
    upTo: () => upTo,
    stopped: () => [...stopped.values()],
    done: run().catch((error: unknown) => {
      if (!options.signal.aborted) throw error;
    }),
  };
}

/**
 * Each topic arrives by itself. A round takes what has arrived of the last topic, then waits until everything that
 * the topics before it have now has arrived too. So the cause of each taken record is taken with it.
 */
async function goOn(
  {
    log,
    onRecord,
    onRound,
    onNewer,
    refreshMs,
    signal,
  }: Options & { readonly onNewer: (newer: NewerRecord) => void },
  from: Readonly<Record<Topic, readonly number[]>>,
): Promise<void> {
  const arrived: Record<Topic, Recorded[]> = {
    conversations: [],
    turns: [],
    training: [],
    'dead-letters': [],
  };
  const start = (topic: Topic): Following => {
    const offsets: Offsets = { ...from[topic] };
    const onArrived = (record: Recorded): void => void arrived[topic].push(record);
    return log.follow(topic, offsets, onArrived, { signal, onNewer });
  };
  const followings = Object.fromEntries(topics.map((topic) => [topic, start(topic)])) as Record<
    Topic,
    Following
  >;
  const rounds = async (): Promise<void> => {
    while (!signal.aborted) {
      await pause(refreshMs, signal);
      if (topics.every((topic) => arrived[topic].length === 0)) continue;
      const counts = await countInOrder(arrived, followings);
      if (counts === undefined) continue; // the log does not answer: these records wait
      for (const topic of topics) {
        for (const record of arrived[topic].splice(0, counts[topic])) onRecord(record, topic);
      }
      onRound();
    }
  };
  await Promise.race([rounds(), ...Object.values(followings).map(({ done }) => done)]);
}

async function countInOrder(
  arrived: Readonly<Record<Topic, readonly Recorded[]>>,
  followings: Readonly<Record<Topic, Following>>,
): Promise<Record<Topic, number> | undefined> {
  const count = (topic: Topic) => arrived[topic].length;
  const reached = async (topic: LoopTopic) => {
    await followings[topic].reachEnd();
    return count(topic);
  };
  try {
    const training = count('training');
    const turns = await reached('turns');
    const conversations = await reached('conversations');
    return { conversations, turns, training, 'dead-letters': count('dead-letters') };
  } catch {
    return undefined;
  }
}
