import type { ClawLoopEvent } from '../../events/catalogue.ts';
import { eventText } from '../../events/event-text.ts';
import { topicOf } from '../../events/parse-event.ts';
import { partitionOf } from '../partition-of.ts';
import type { NewRecord } from './protocol.ts';

/** An event as the store takes it. */
export function recordOf(event: ClawLoopEvent, partitions: number): NewRecord {
  return {
    topic: topicOf(event),
    partition: partitionOf(event.subject, partitions),
    type: event.type,
    subject: event.subject,
    body: eventText(event),
  };
}
