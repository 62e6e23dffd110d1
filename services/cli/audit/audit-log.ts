import { type Topic, topics } from '../../../shared/events/define-event.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { WordsErased } from '../../../shared/events/words-erased.ts';
import { readErasures } from '../../../shared/log/erasures.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog, Recorded } from '../../../shared/log/event-log.ts';
import { endsOfAll, readToEnd, readTopic } from '../../../shared/log/read-topic.ts';
import { type AuditReport, createAudit } from './audit.ts';
import { type Audited, type Folded, type Folds, type GroupName, placeName } from './audited.ts';
import type { Owed } from './overdue.ts';
import { openWindow } from './window.ts';

export type LogReport = Omit<AuditReport, 'owed'> & {
  /** First kept offset per topic and partition, for topics whose first records were trimmed. */
  readonly trimmed: Readonly<Partial<Record<Topic, readonly number[]>>>;
  /** What was erased from the log, oldest first. */
  readonly erasures: readonly (WordsErased['data'] & { readonly time: string })[];
  /** Items open for longer than the limit, oldest first. */
  readonly overdue: readonly Owed[];
};

/** The topic that each group reads. */
const groups: Readonly<Record<GroupName, Topic>> = {
  attribute: 'conversations',
  judge: 'turns',
  assemble: 'turns',
  submit: 'training',
};
const auditedTopics = ['conversations', 'turns', 'training'] as const;

/** Audits the log up to its current end, also while services write to it. @throws LogUnavailable, NewerSchema */
export async function auditLog(log: EventLog, overdueAfterMs: number): Promise<LogReport> {
  // positions first: the records read afterwards then include all that the groups have folded
  const positions = await positionsOf(log);
  const rejected = await readRejected(log);
  const erasures = await readErasures(log);
  const ends = await endsOfAll(log);
  const starts = new Map(
    await Promise.all(auditedTopics.map(async (topic) => [topic, await log.starts(topic)] as const)),
  );
  const isTrimmed = (topic: (typeof auditedTopics)[number]) => starts.get(topic)!.some((start) => start > 0);
  const folds: Folds = (group, record) => !rejected.has(`${group} ${placeName(record)}`);
  const folded: Folded = (group, record) =>
    record.at.offset < (positions.get(group)?.get(record.at.partition)?.position ?? 0) &&
    folds(group, record);
  const audit = createAudit({
    folded,
    folds,
    setAside: (record) => rejected.has(placeName(record)),
    trimmed: new Set(auditedTopics.filter(isTrimmed)),
    erasures,
  });
  const window = openWindow();
  for (const topic of auditedTopics) {
    const onRecord = (record: Recorded) => {
      const auditedRecord: Audited = { topic, ...record };
      window.on(auditedRecord);
      audit.on(auditedRecord);
    };
    await readToEnd(log, topic, onRecord, { until: ends[topic] });
  }
  // what an older item lacks may have been trimmed
  const since = Math.max(...auditedTopics.filter(isTrimmed).map(window.wholeSince), Number.NEGATIVE_INFINITY);
  const report = audit.report(since);
  const lost = lostTails(positions, ends);
  for (const topic of log.hasDenseOffsets ? auditedTopics : [])
    for (const { partition, from, to } of window.gaps(topic, starts.get(topic)!, ends[topic]))
      for (let offset = from; offset < to; offset++) {
        const why = await whyUnread(log, topic, { partition, offset }, rejected);
        if (why !== undefined) lost.push(why);
      }
  const { owed, ...findings } = report;
  const limit = Math.min(Date.now(), window.lastTime()) - overdueAfterMs;
  return {
    ...findings,
    erasures: erasures.map(({ time, data }) => ({ time, ...data })),
    broken: [...report.broken, ...lost],
    trimmed: Object.fromEntries(auditedTopics.filter(isTrimmed).map((topic) => [topic, starts.get(topic)!])),
    overdue: owed.filter((item) => item.since < limit && item.since >= since),
  };
}

type Reached = { readonly topic: Topic; readonly position: number };
type Positions = ReadonlyMap<GroupName, ReadonlyMap<number, Reached>>;

async function positionsOf(log: EventLog): Promise<Positions> {
  const lags = await Promise.all(
    (Object.keys(groups) as GroupName[]).map(async (group) => {
      const shares = (await log.lag(group)).filter(({ topic }) => topic === groups[group]);
      return [group, new Map(shares.map((share) => [share.partition, share]))] as const;
    }),
  );
  return new Map(lags);
}

/** Partitions where a group has read past the end: the last records are lost. */
function lostTails(positions: Positions, ends: Readonly<Record<string, readonly number[]>>): string[] {
  return [...positions].flatMap(([group, shares]) =>
    [...shares].flatMap(([partition, { topic, position }]) => {
      const end = ends[topic]![partition]!;
      const place = `${topic}/${partition}`;
      return position > end
        ? [`${group} has read ${place} up to offset ${position}, but its records end at ${end}`]
        : [];
    }),
  );
}

/** Places of records that a group could not read, with and without the group's name in front. */
async function readRejected(log: EventLog): Promise<ReadonlySet<string>> {
  const places = new Set<string>();
  await readTopic(log, 'dead-letters', ({ event }) => {
    if (event.type !== 'event.rejected') return;
    const { group, topic, at } = event.data;
    if (!topics.some((name) => name === topic)) return;
    const place = placeName({ topic: topic as Topic, at });
    places.add(place).add(`${group} ${place}`);
  });
  return places;
}

/** The problem with a record that was not delivered; undefined: its type is unknown, or a group rejected it. */
async function whyUnread(
  log: EventLog,
  topic: Topic,
  at: Position,
  rejected: ReadonlySet<string>,
): Promise<string | undefined> {
  const place = placeName({ topic, at });
  try {
    await log.read(topic, at);
    return undefined;
  } catch (error) {
    if (isLogError(error, 'RecordGone')) return `${place} is missing`;
    if (!isLogError(error, 'BrokenRecord')) throw error;
    const isUnknown = error.message.includes('unknown type');
    return isUnknown || rejected.has(place) ? undefined : `${error.message}, but no dead letter names it`;
  }
}
