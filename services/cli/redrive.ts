import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { type Topic, topics } from '../../shared/events/define-event.ts';
import type { EventRejected } from '../../shared/events/event-rejected.ts';
import { parseEvent, topicOf } from '../../shared/events/parse-event.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { readTopic } from './read-topic.ts';

/** What is to become of one dead letter. */
export type Redrive =
  | { readonly kind: 'append'; readonly letter: EventRejected; readonly event: ClawLoopEvent }
  | { readonly kind: 'stands'; readonly letter: EventRejected; readonly event: ClawLoopEvent }
  | { readonly kind: 'left'; readonly letter: EventRejected; readonly why: string };

/**
 * What is to become of the latest `last` dead letters, or of all, in the order in which they were written.
 * Nothing is appended. A letter is put back for the group that rejected it: the others have folded the record.
 * One record that several groups rejected goes back once, for all of them. A letter whose event stands in its
 * topic for that group already, or goes there by another letter, is not put back again; the record that a group
 * rejected does not count for it, though this code may read it now: that group has passed it.
 */
export async function planRedrive(log: EventLog, last?: number): Promise<readonly Redrive[]> {
  const letters: EventRejected[] = [];
  await readTopic(log, 'dead-letters', ({ event }) => {
    if (event.type === 'event.rejected') letters.push(event);
  });
  letters.sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  const chosen = last === undefined ? letters : letters.slice(Math.max(0, letters.length - last));
  const parsed = chosen.map(parseLetter);
  const wanted = new Set(parsed.flatMap((one) => (one.kind === 'left' ? [] : [one.event.id])));
  const rejected = new Set(letters.map(({ data }) => `${data.group} ${place(data.topic, data.at)}`));
  const groups = new Set(letters.map(({ data }) => data.group));
  const standing = new Set<string>();
  for (const topic of new Set(parsed.flatMap((one) => (one.kind === 'left' ? [] : [topicOf(one.event)])))) {
    await readTopic(log, topic, ({ event, at }) => {
      if (!wanted.has(event.id)) return;
      for (const group of event.redrivenfor?.split(',') ?? groups)
        if (!rejected.has(`${group} ${place(topic, at)}`)) standing.add(`${group} ${event.id}`);
    });
  }
  const lacking = Map.groupBy(
    parsed.flatMap((one) => (one.kind === 'append' && !standing.has(needOf(one)) ? [one] : [])),
    ({ event }) => event.id,
  );
  return parsed.map((one) => {
    if (one.kind !== 'append') return one;
    const together = lacking.get(one.event.id) ?? [];
    if (together[0] !== one) return { ...one, kind: 'stands' };
    const redrivenfor = [...new Set(together.map(({ letter }) => letter.data.group))].join(',');
    return { ...one, event: { ...one.event, redrivenfor } };
  });
}

const needOf = ({ letter, event }: Extract<Redrive, { kind: 'append' }>): string =>
  `${letter.data.group} ${event.id}`;

function parseLetter(letter: EventRejected): Redrive {
  const left = (why: string): Redrive => ({ kind: 'left', letter, why });
  const topic: Topic | undefined = topics.find((name) => name === letter.data.topic);
  if (topic === undefined) return left(`no topic '${letter.data.topic}'`);
  const parsed = parseEvent(letter.data.body);
  if (parsed.kind === 'broken') return left(parsed.error);
  if (parsed.kind === 'unknown') return left(`unknown type ${parsed.type}`);
  if (parsed.kind === 'newer')
    return left(`${parsed.type} version ${parsed.version}; this code knows ${parsed.known}`);
  const { event } = parsed;
  if (topicOf(event) !== topic) return left(`a ${event.type} belongs to ${topicOf(event)}, not to ${topic}`);
  // under another key it would come to a partition whose folds know nothing of it
  if (event.subject !== letter.data.subject)
    return left(`its key was '${letter.data.subject}', its subject is '${event.subject}'`);
  return { kind: 'append', letter, event };
}

const place = (topic: string, at: { readonly partition: number; readonly offset: number }) =>
  `${topic}/${at.partition}@${at.offset}`;

/** The place of the record that a letter holds, as `topics tail` prints it. */
export const placeOf = ({ data }: EventRejected): string => place(data.topic, data.at);
