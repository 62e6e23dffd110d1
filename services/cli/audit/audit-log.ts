import { type Topic, topics } from '../../../shared/events/define-event.ts';
import type { Position } from '../../../shared/events/position.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { endsOfAll, readTopic, readUpTo } from '../read-topic.ts';
import { type AuditReport, createAudit } from './audit.ts';
import { type Audited, type Folded, type Folds, type GroupName, placeName } from './audited.ts';
import type { Owed } from './overdue.ts';
import { openWindow } from './window.ts';

export type LogReport = Omit<AuditReport, 'owed'> & {
  /** Per topic and partition, the first offset that is kept, where earlier records were trimmed. */
  readonly trimmed: Readonly<Partial<Record<Topic, readonly number[]>>>;
  /** What is open for longer than the limit, the oldest first. */
  readonly overdue: readonly Owed[];
};

/** Which group reads which topic. */
const groups: Readonly<Record<GroupName, Topic>> = {
  attribute: 'conversations',
  judge: 'turns',
  assemble: 'turns',
  submit: 'training',
};
const read = ['conversations', 'turns', 'training'] as const;

/** Audits a log as it is now, also while others write to it. @throws LogUnavailable, NewerSchema */
export async function auditLog(log: EventLog, overdueAfterMs: number): Promise<LogReport> {
  // first: what a group had folded by now stands in what is read after
  const positions = await positionsOf(log);
  const setAside = await readSetAside(log);
  const ends = await endsOfAll(log);
  const starts = new Map(
    await Promise.all(read.map(async (topic) => [topic, await log.starts(topic)] as const)),
  );
  const isTrimmed = (topic: (typeof read)[number]) => starts.get(topic)!.some((start) => start > 0);
  const folds: Folds = (group, record) => !setAside.has(`${group} ${placeName(record)}`);
  const folded: Folded = (group, record) =>
    record.at.offset < (positions.get(group)?.get(record.at.partition)?.position ?? 0) &&
    folds(group, record);
  const audit = createAudit({
    folded,
    folds,
    setAside: (record) => setAside.has(placeName(record)),
    trimmed: new Set(read.filter(isTrimmed)),
  });
  const window = openWindow();
  for (const topic of read)
    await readUpTo(log, topic, ends[topic], (record) => {
      const audited: Audited = { topic, ...record };
      window.on(audited);
      audit.on(audited);
    });
  const report = audit.report();
  const lost = lostTails(positions, ends);
  for (const topic of log.hasDenseOffsets ? read : [])
    for (const { partition, from, to } of window.gaps(topic, starts.get(topic)!, ends[topic]))
      for (let offset = from; offset < to; offset++) {
        const why = await whyUnread(log, topic, { partition, offset }, setAside);
        if (why !== undefined) lost.push(why);
      }
  const { owed, ...rest } = report;
  const since = Math.max(...read.filter(isTrimmed).map(window.firstTime), Number.NEGATIVE_INFINITY);
  const limit = Math.min(Date.now(), window.lastTime()) - overdueAfterMs;
  return {
    ...rest,
    broken: [...report.broken, ...lost],
    trimmed: Object.fromEntries(read.filter(isTrimmed).map((topic) => [topic, starts.get(topic)!])),
    // what is older than the window may have been met in what was trimmed
    overdue: owed.filter((one) => one.since < limit && one.since >= since),
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

/** A group that has read beyond the end of a topic has read records that are gone. */
function lostTails(positions: Positions, ends: Readonly<Record<string, readonly number[]>>): string[] {
  return [...positions].flatMap(([group, shares]) =>
    [...shares].flatMap(([partition, { topic, position }]) => {
      const end = ends[topic]![partition]!;
      const place = `${topic}/${partition}`;
      return position > end
        ? [`${group} has read ${place} up to ${position}, and its records end at ${end}`]
        : [];
    }),
  );
}

/** The places of records that a group could not read, each by itself and with the group's name before it. */
async function readSetAside(log: EventLog): Promise<ReadonlySet<string>> {
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

/** What is wrong with a record that was not delivered; undefined: it is of an unknown type, or set aside. */
async function whyUnread(
  log: EventLog,
  topic: Topic,
  at: Position,
  setAside: ReadonlySet<string>,
): Promise<string | undefined> {
  const place = placeName({ topic, at });
  try {
    await log.read(topic, at);
    return undefined;
  } catch (error) {
    if (isLogError(error, 'RecordGone')) return `${place} is missing`;
    if (!isLogError(error, 'BrokenRecord')) throw error;
    const isUnknown = error.message.includes('unknown type');
    return isUnknown || setAside.has(place) ? undefined : `${error.message}, and no dead letter names it`;
  }
}
