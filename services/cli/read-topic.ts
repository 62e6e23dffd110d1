import type { Topic } from '../../shared/events/define-event.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';

/** Hands every record that a topic holds now to `onRecord`, then ends. */
export async function readTopic(
  log: EventLog,
  topic: Topic,
  onRecord: (record: Recorded) => void,
): Promise<void> {
  const stop = new AbortController();
  const following = log.follow(topic, {}, onRecord, stop.signal);
  try {
    await Promise.race([following.caughtUp, following.done]);
  } finally {
    stop.abort();
    await following.done.catch(() => {});
  }
}

/** Conversations, turns, training: in the order of the loop, so that what answers comes after what it answers. */
export async function readAll(
  log: EventLog,
  onRecord: (record: Recorded, topic: Topic) => void,
): Promise<void> {
  for (const topic of ['conversations', 'turns', 'training'] as const) {
    await readTopic(log, topic, (record) => onRecord(record, topic));
  }
}
