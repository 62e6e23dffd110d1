import type { Topic } from '../../shared/events/define-event.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';

/** Hands every record that a topic holds now to `onRecord`, then ends. */
export const readTopic = async (
  log: EventLog,
  topic: Topic,
  onRecord: (record: Recorded) => void,
): Promise<void> => readUpTo(log, topic, await log.ends(topic), onRecord);

async function readUpTo(
  log: EventLog,
  topic: Topic,
  ends: readonly number[],
  onRecord: (record: Recorded) => void,
): Promise<void> {
  const stop = new AbortController();
  const onRecordBefore = (record: Recorded) => {
    if (record.at.offset < ends[record.at.partition]!) onRecord(record);
  };
  const following = log.follow(topic, {}, onRecordBefore, stop.signal);
  try {
    await Promise.race([following.caughtUp, following.done]);
  } finally {
    stop.abort();
    await following.done.catch(() => {});
  }
}

/**
 * Conversations, turns, training: in the order of the loop, so that what answers comes after what it answers.
 * Where each ends is asked in the opposite order: then, while people chat, nothing is read whose cause is
 * not.
 */
export async function readAll(
  log: EventLog,
  onRecord: (record: Recorded, topic: Topic) => void,
): Promise<void> {
  const training = await log.ends('training');
  const turns = await log.ends('turns');
  const conversations = await log.ends('conversations');
  for (const [topic, ends] of Object.entries({ conversations, turns, training }) as [Topic, number[]][])
    await readUpTo(log, topic, ends, (record) => onRecord(record, topic));
}
