import { createHash } from 'node:crypto';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import type { EventLog, Recorded } from './event-log.ts';
import { readToEnd } from './read-topic.ts';
import { stableJson } from './stable-json.ts';

/** A fact in the log. It has a digest instead of the body, because all bodies would not fit in memory. */
export type StandingFact = {
  readonly topic: Topic;
  readonly at: Position;
  readonly type: ClawLoopEvent['type'];
  readonly id: string;
  readonly digest: string;
  /** The fact is a copy: a redriven dead letter. */
  readonly isCopy: boolean;
};

/** By `factKey`; several facts if the log has duplicates. */
export type StandingFacts = ReadonlyMap<string, readonly StandingFact[]>;

/** Facts of two types may share an id. */
export const factKey = ({ type, id }: Pick<ClawLoopEvent, 'type' | 'id'>): string => `${type} ${id}`;

/** The fields that a rebuild must reproduce. */
export const comparable = ({ type, id, subject, time, data }: ClawLoopEvent) => ({
  type,
  id,
  subject,
  time,
  data: data as unknown,
});

export const digestOf = (event: ClawLoopEvent): string =>
  createHash('sha256')
    .update(stableJson(comparable(event)))
    .digest('base64');

/** Reads the facts of the given types that a topic has now, without those that no fold makes. */
export async function readFacts(
  log: EventLog,
  topic: Topic,
  types: ReadonlySet<string>,
  isForeign: (event: ClawLoopEvent) => boolean = () => false,
): Promise<StandingFacts> {
  const facts = new Map<string, StandingFact[]>();
  await readWanted(log, topic, types, ({ event, at }) => {
    if (isForeign(event)) return;
    const { type, id } = event;
    const isCopy = event.redrivenfor !== undefined;
    const fact = { topic, at, type, id, isCopy, digest: digestOf(event) };
    const same = facts.get(factKey(event));
    if (same === undefined) facts.set(factKey(event), [fact]);
    else same.push(fact);
  });
  return facts;
}

/** The positions of the records that a group rejected, as `partition/offset`. */
export async function readSetAside(log: EventLog, group: string, topic: Topic): Promise<ReadonlySet<string>> {
  const places = new Set<string>();
  await readWanted(log, 'dead-letters', new Set(['event.rejected']), ({ event }) => {
    if (event.type !== 'event.rejected' || event.data.group !== group || event.data.topic !== topic) return;
    places.add(placeOf(event.data.at));
  });
  return places;
}

export const placeOf = ({ partition, offset }: Position): string => `${partition}/${offset}`;

const readWanted = (
  log: EventLog,
  topic: Topic,
  types: ReadonlySet<string>,
  onRecord: (record: Recorded) => void,
): Promise<void> => readToEnd(log, topic, onRecord, { wants: ({ type }) => types.has(type) });
