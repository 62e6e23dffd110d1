import type { TrimmableTopic } from '../events/log-trimmed.ts';
import type { CommittedPartition, EventLog, Heading, SubjectView } from '../log/event-log.ts';
import { readToEnd } from '../log/read-topic.ts';
import { requireKnownRows } from '../log/row-versions.ts';
import type { Hold, WantedCut } from './choose-cut.ts';
import { positionsIn } from './positions-in.ts';
import { scanPrefix } from './scan-prefix.ts';

type Log = Pick<EventLog, 'committed' | 'follow' | 'retention'>;

/** The groups that decide about each topic: what they have not read is not removed, even if they never ran. */
const deciding = {
  conversations: ['attribute'],
  turns: ['judge', 'assemble'],
} as const satisfies Readonly<Record<TrimmableTopic, readonly string[]>>;

/** A session that the collector has not closed. */
type OpenSession = { readonly lane: string; readonly session: string; readonly epoch: string };

/**
 * Everything that must stay of the partitions that are to be cut: what a group has not read, what its rows point to,
 * where open sessions began, and leases of environments.
 */
export async function findHolds(log: Log, cuts: readonly WantedCut[]): Promise<readonly Hold[]> {
  const holds: Hold[] = [];
  const topics = new Set(cuts.map(({ topic }) => topic));
  for (const topic of topics) holds.push(...(await heldByGroups(log, topic, cuts)));
  const sessions = openSessions((await rowsOf(log, 'attribute')).flatMap(({ subjects }) => subjects));
  if (topics.has('conversations')) holds.push(...(await heldInConversations(log, cuts, sessions)));
  if (topics.has('turns')) holds.push(...(await heldInTurns(log, cuts, sessions)));
  return holds;
}

async function heldByGroups(
  log: Log,
  topic: TrimmableTopic,
  cuts: readonly WantedCut[],
): Promise<readonly Hold[]> {
  const readers = await log.retention.readers(topic);
  const absent = deciding[topic].filter((group) => !readers.some((reader) => reader.group === group));
  const unread = absent.flatMap((group) =>
    cuts
      .filter((cut) => cut.topic === topic)
      .map(({ partition }) => ({ topic, partition, offset: 0, why: `${group} has read nothing yet` })),
  );
  const read = readers.map(({ group, partition, position }) => ({
    topic,
    partition,
    offset: position,
    why: `${group} has read up to ${position}`,
  }));
  const pointed: Hold[] = [];
  for (const group of new Set(readers.map((reader) => reader.group)))
    for (const { subjects } of await rowsOf(log, group))
      for (const { subject, rows } of subjects)
        for (const [key, row] of rows.entries(''))
          for (const { partition, offset } of positionsIn(row))
            pointed.push({ topic, partition, offset, why: `${group} needs it for ${key} of ${subject}` });
  return [...unread, ...read, ...pointed];
}

/** @throws OtherRows: what rows of another version need is unknown */
async function rowsOf(log: Log, group: string): Promise<readonly CommittedPartition[]> {
  const partitions = await log.committed(group);
  for (const partition of partitions) requireKnownRows({ ...partition, group });
  return partitions;
}

/** From the rows `session/<key>/<session>` of `attribute`. */
function openSessions(lanes: readonly SubjectView[]): readonly OpenSession[] {
  return lanes.flatMap(({ subject, rows }) =>
    [...rows.entries('session/')].flatMap(([key, row]) => {
      const { open, epoch } = row as { readonly open: boolean; readonly epoch: string };
      const name = key.slice(key.lastIndexOf('/') + 1);
      return open ? [{ lane: subject, session: decodeURIComponent(name), epoch }] : [];
    }),
  );
}

/** Serving reads a session, its answers and its lease from the session's start on. */
async function heldInConversations(
  log: Log,
  cuts: readonly WantedCut[],
  sessions: readonly OpenSession[],
): Promise<readonly Hold[]> {
  const topic = 'conversations' as const;
  const open = new Set(sessions.map(({ lane }) => lane));
  const began = new Map<string, Heading>();
  const leased = new Map<string, Heading>();
  const note = (heading: Heading): void => {
    const { type, subject } = heading;
    if (type === 'session.ended') began.delete(subject);
    else if (open.has(subject) && !began.has(subject)) began.set(subject, heading);
    if (type === 'environment.leased' && !leased.has(subject)) leased.set(subject, heading);
    if (type === 'environment.released') leased.delete(subject);
  };
  await scanPrefix(log, topic, cuts, { note });
  if (leased.size > 0)
    await readToEnd(log, topic, ({ event }) => void leased.delete(event.subject), {
      from: Object.fromEntries(
        cuts
          .filter((cut) => cut.topic === topic)
          .map(({ partition, wanted }) => [partition, wanted.offset] as const),
      ),
      wants: new Set(['environment.released']),
    });
  return [
    ...[...began].map(([lane, { at }]) => ({ topic, ...at, why: `the open session in ${lane} began here` })),
    ...[...leased].map(([lane, { at }]) => ({ topic, ...at, why: `${lane} has leased an environment` })),
  ];
}

/** Serving finds an open session by the record of its opening. */
async function heldInTurns(
  log: Log,
  cuts: readonly WantedCut[],
  sessions: readonly OpenSession[],
): Promise<readonly Hold[]> {
  const topic = 'turns' as const;
  const nameOf = ({ lane, session, epoch }: OpenSession) => JSON.stringify([lane, session, epoch]);
  const open = new Set(sessions.map(nameOf));
  const lanes = new Set(sessions.map(({ lane }) => lane));
  const holds: Hold[] = [];
  await scanPrefix(log, topic, cuts, {
    wants: ({ type, subject }) => type === 'session.opened' && lanes.has(subject),
    onRecord: ({ event, at }) => {
      if (event.type === 'session.opened' && open.has(nameOf(event.data)))
        holds.push({ topic, ...at, why: `session ${event.data.session} is open` });
    },
  });
  return holds;
}
