import type { EventLog } from '../../shared/log/event-log.ts';
import { trimmedTopics } from '../../shared/retention/kept-window.ts';

/** Says on standard error from which time on a reader of the log sees everything. Says nothing of a whole log. */
export async function noteTrims(log: Pick<EventLog, 'starts' | 'follow' | 'ends'>): Promise<void> {
  for (const { topic, before } of await trimmedTopics(log))
    console.error(`records of ${topic} before ${before ?? 'an unknown time'} were trimmed`);
}
