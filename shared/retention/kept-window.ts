import { type TrimmableTopic, trimmableTopics } from '../events/log-trimmed.ts';
import type { EventLog } from '../log/event-log.ts';
import { readTrims } from './read-trims.ts';

/** A topic whose first records were trimmed. */
export type TrimmedTopic = {
  readonly topic: TrimmableTopic;
  /** ISO time: all removed records were appended before; null: no fact says so */
  readonly before: string | null;
};

/** From which time on a reader of the log sees everything. Empty: nothing was trimmed. */
export async function trimmedTopics(
  log: Pick<EventLog, 'starts' | 'follow' | 'ends'>,
): Promise<readonly TrimmedTopic[]> {
  const all = trimmableTopics.map(async (topic) => ({ topic, starts: await log.starts(topic) }));
  const trimmed = (await Promise.all(all)).filter(({ starts }) => starts.some((start) => start > 0));
  const trims = trimmed.length === 0 ? [] : await readTrims(log);
  return trimmed.map(({ topic, starts }) => {
    const before = trims
      .filter(({ data }) => data.topic === topic && data.to === starts[data.partition])
      .map(({ data }) => data.before)
      .sort()
      .at(-1);
    return { topic, before: before ?? null };
  });
}
