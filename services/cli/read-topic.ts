import type { Topic } from '../../shared/events/define-event.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';

/** Hands every record that a topic holds now to `onRecord`, then ends. */
export const readTopic = async (
  log: EventLog,
  topic: Topic,
  onRecord: (record: Recorded) => void,
): Promise<void> => readUpTo(log, topic, await log.ends(topic), onRecord);

/** Hands every record before `ends` to `onRecord`, per partition. */
export async function readUpTo(
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
 * Where each topic ends, asked in the opposite order of the loop: then, while people chat, nothing is read
 * whose cause is not.
 */
export async function endsOfAll(
  log: EventLog,
): Promise<Readonly<Record<'conversations' | 'turns' | 'training', readonly number[]>>> {
  const training = await log.ends('training');
  const turns = await log.ends('turns');
  const conversations = await log.ends('conversations');
  return { conversations, turns, training };
}

/**
 * Conversations, turns, training: in the order of the loop, so that what answers comes after what it answers.
 */
export async function readAll(
  log: EventLog,
  onRecord: (record: Recorded, topic: Topic) => void,
): Promise<void> {
  for (const [topic, ends] of Object.entries(await endsOfAll(log)) as [Topic, number[]][])
    await readUpTo(log, topic, ends, (record) => onRecord(record, topic));
}
