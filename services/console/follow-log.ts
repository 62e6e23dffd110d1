import { type Topic, topics } from '../../shared/events/define-event.ts';
import { pause } from '../../shared/lang/async.ts';
import { sum } from '../../shared/lang/numbers.ts';
import type { EventLog, Following, Offsets, Recorded } from '../../shared/log/event-log.ts';
import { endsOfAll, readToEnd } from '../../shared/log/read-topic.ts';

type Options = {
  readonly log: EventLog;
  readonly onRecord: (record: Recorded, topic: Topic) => void;
  /** Called after records were read, at most once per `refreshMs`. */
  readonly onRound: () => void;
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
  /** Rejects on a newer schema or a broken log. */
  readonly done: Promise<void>;
};

/** Reads all topics from their first record, and goes on with new ones, so that causes come before their effects. */
export function followLog(options: Options): LogReader {
  let read = 0;
  let total = 1;
  let isCaughtUp = false;
  const run = async (): Promise<void> => {
    const { log, onRecord, signal } = options;
    const ends = await endsOfAll(log);
    const lettersEnd = await log.ends('dead-letters');
    total = Math.max(1, sum([...Object.values(ends), lettersEnd].flat()));
    const count = (topic: Topic) => (record: Recorded) => {
      read += 1;
      onRecord(record, topic);
    };
    for (const topic of loop) await readToEnd(log, topic, count(topic), { until: ends[topic], signal });
    await readToEnd(log, 'dead-letters', count('dead-letters'), { until: lettersEnd, signal });
    if (signal.aborted) return;
    isCaughtUp = true;
    options.onRound();
    await goOn(options, { ...ends, 'dead-letters': lettersEnd });
  };
  return {
    progress: () => (isCaughtUp ? 1 : Math.min(0.999, read / total)),
    isCaughtUp: () => isCaughtUp,
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
  { log, onRecord, onRound, refreshMs, signal }: Options,
  ends: Readonly<Record<Topic, readonly number[]>>,
): Promise<void> {
  const arrived: Record<Topic, Recorded[]> = {
    conversations: [],
    turns: [],
    training: [],
    'dead-letters': [],
  };
  const start = (topic: Topic): Following => {
    const from: Offsets = { ...ends[topic] };
    return log.follow(topic, from, (record) => void arrived[topic].push(record), signal);
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
