import type { Topic } from '../events/define-event.ts';
import { defined } from '../lang/defined.ts';
import type { EventLog, NewerRecord, Offsets, Recorded, Wanted } from './event-log.ts';

type ReadOptions = {
  readonly from?: Offsets;
  /** Per partition, the first offset that is not delivered. */
  readonly until?: readonly number[];
  readonly wants?: Wanted;
  /** When it aborts, the read ends early, without an error. */
  readonly signal?: AbortSignal;
  /** A record of a newer version then stops only its partition, before it. */
  readonly onNewer?: (newer: NewerRecord) => void;
};

/**
 * Reads a topic to its end as of now. Records that are appended during the read may be delivered too; `until`
 * keeps them out.
 */
export async function readToEnd(
  log: Pick<EventLog, 'follow'>,
  topic: Topic,
  onRecord: (record: Recorded) => void,
  { from = {}, until, wants, signal, onNewer }: ReadOptions = {},
): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([stop.signal, ...(signal === undefined ? [] : [signal])]);
  const onRecordBefore = (record: Recorded) => {
    if (until === undefined || record.at.offset < until[record.at.partition]!) onRecord(record);
  };
  const following = log.follow(topic, from, onRecordBefore, { signal: either, wants, onNewer });
  try {
    await Promise.race([following.caughtUp, following.done]);
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    stop.abort();
    await following.done.catch(() => {});
  }
}

/** Passes every record that a topic has now to `onRecord`; `wants`: only these. */
export const readTopic = async (
  log: Pick<EventLog, 'follow' | 'ends'>,
  topic: Topic,
  onRecord: (record: Recorded) => void,
  wants?: Wanted,
): Promise<void> => readToEnd(log, topic, onRecord, { until: await log.ends(topic), ...defined({ wants }) });

/**
 * The ends of all topics, read in the reverse order of the loop: the cause of each event before these ends is also
 * before them, even if new events arrive during the call.
 */
export async function endsOfAll(
  log: EventLog,
): Promise<Readonly<Record<'conversations' | 'turns' | 'training', readonly number[]>>> {
  const training = await log.ends('training');
  const turns = await log.ends('turns');
  const conversations = await log.ends('conversations');
  return { conversations, turns, training };
}

/** Reads conversations, turns and training in the order of the loop, so causes come before their effects. */
export async function readAll(
  log: EventLog,
  onRecord: (record: Recorded, topic: Topic) => void,
  wants?: Wanted,
): Promise<void> {
  for (const [topic, ends] of Object.entries(await endsOfAll(log)) as [Topic, number[]][])
    await readToEnd(log, topic, (record) => onRecord(record, topic), { until: ends, ...defined({ wants }) });
}
