import type { ClawLoopEvent } from '../events/catalogue.ts';
import { type Topic, topics } from '../events/define-event.ts';
import type { EventRejected } from '../events/event-rejected.ts';
import { parseEvent, topicOf } from '../events/parse-event.ts';
import type { EventLog, Heading, Recorded } from './event-log.ts';
import { readToEnd, readTopic } from './read-topic.ts';

/** The plan for one dead letter. */
export type Redrive =
  | { readonly kind: 'append'; readonly letter: EventRejected; readonly event: ClawLoopEvent }
  | { readonly kind: 'stands'; readonly letter: EventRejected; readonly event: ClawLoopEvent }
  | { readonly kind: 'left'; readonly letter: EventRejected; readonly why: string };

/**
 * Plans the redrive of the latest `last` dead letters, or of all, in the order in which they were written.
 * Nothing is appended. A letter is put back for the group that rejected it; the other groups have folded the
 * record. A record that several groups rejected is put back once, for all of them. A letter is skipped when
 * its event is already in the topic for that group, or is put back by another letter. The rejected record does
 * not count for its group, even if this code can read it now: that group has passed it.
 */
export async function planRedrive(
  log: Pick<EventLog, 'follow' | 'ends'>,
  last?: number,
): Promise<readonly Redrive[]> {
  const letters: EventRejected[] = [];
  await readTopic(log, 'dead-letters', ({ event }) => {
    if (event.type === 'event.rejected') letters.push(event);
  });
  letters.sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  const chosen = last === undefined ? letters : letters.slice(Math.max(0, letters.length - last));
  const parsed = chosen.map(parseLetter);
  const wanted = new Set(parsed.flatMap((redrive) => (redrive.kind === 'left' ? [] : [redrive.event.id])));
  const headings = new Set(
    parsed.flatMap((redrive) =>
      redrive.kind === 'left' ? [] : [`${redrive.event.type} ${redrive.event.subject}`],
    ),
  );
  const rejected = new Set(letters.map(({ data }) => `${data.group} ${place(data.topic, data.at)}`));
  const groups = new Set(letters.map(({ data }) => data.group));
  const standing = new Set<string>();
  for (const topic of new Set(
    parsed.flatMap((redrive) => (redrive.kind === 'left' ? [] : [topicOf(redrive.event)])),
  )) {
    const onRecord = ({ event, at }: Recorded) => {
      if (!wanted.has(event.id)) return;
      for (const group of event.redrivenfor?.split(',') ?? groups)
        if (!rejected.has(`${group} ${place(topic, at)}`)) standing.add(`${group} ${event.id}`);
    };
    const wants = ({ type, subject }: Heading) => headings.has(`${type} ${subject}`);
    await readToEnd(log, topic, onRecord, { until: await log.ends(topic), wants });
  }
  const lacking = Map.groupBy(
    parsed.flatMap((redrive) =>
      redrive.kind === 'append' && !standing.has(needOf(redrive)) ? [redrive] : [],
    ),
    ({ event }) => event.id,
  );
  return parsed.map((redrive) => {
    if (redrive.kind !== 'append') return redrive;
    const together = lacking.get(redrive.event.id) ?? [];
    if (together[0] !== redrive) return { ...redrive, kind: 'stands' };
    const redrivenfor = [...new Set(together.map(({ letter }) => letter.data.group))].join(',');
    return { ...redrive, event: { ...redrive.event, redrivenfor } };
  });
}

const needOf = ({ letter, event }: Extract<Redrive, { kind: 'append' }>): string =>
  `${letter.data.group} ${event.id}`;

function parseLetter(letter: EventRejected): Redrive {
  const left = (why: string): Redrive => ({ kind: 'left', letter, why });
  const topic: Topic | undefined = topics.find((name) => name === letter.data.topic);
  if (topic === undefined) return left(`unknown topic '${letter.data.topic}'`);
  const parsed = parseEvent(letter.data.body);
  if (parsed.kind === 'broken') return left(parsed.error);
  if (parsed.kind === 'unknown') return left(`unknown type ${parsed.type}`);
  if (parsed.kind === 'newer')
    return left(`${parsed.type} version ${parsed.version}; this code knows ${parsed.known}`);
  const { event } = parsed;
  if (topicOf(event) !== topic) return left(`${event.type} belongs in ${topicOf(event)}, not in ${topic}`);
  // another key means another partition, whose folds do not know the record
  if (event.subject !== letter.data.subject)
    return left(`its key was '${letter.data.subject}', its subject is '${event.subject}'`);
  return { kind: 'append', letter, event };
}

const place = (topic: string, at: { readonly partition: number; readonly offset: number }) =>
  `${topic}/${at.partition}@${at.offset}`;

/** Place of the rejected record, as `topics tail` prints it. */
export const placeOf = ({ data }: EventRejected): string => place(data.topic, data.at);
