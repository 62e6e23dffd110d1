import { sum } from '../../../shared/lang/numbers.ts';

export type RoomLimits = {
  readonly maxSessions: number;
  /** minimum samples of a version */
  readonly batchSize: number;
  /** samples of a version if too many wait */
  readonly maxBatchSize: number;
  /** versions that a sample may be behind the head */
  readonly maxStaleness: number;
};

/** An open session, with what determines its room. */
export type OpenSession = {
  /** answers so far: each may become a sample when the session ends */
  readonly answers: number;
  readonly task: string | undefined;
  readonly rewarded: boolean;
  /** versions since its first answer; undefined: its samples are already too old */
  readonly age: number | undefined;
  /** ms since its start */
  readonly openMs: number;
  /** ms since its latest event */
  readonly quietMs: number;
};

/** Room that is taken for one adapter, which learns only from its own sessions. */
export type Occupancy = {
  readonly open: readonly OpenSession[];
  /** open sessions of other adapters, which count as sessions but take no room */
  readonly others: number;
  /** samples, including those in transit and in training: by session, and without a session */
  readonly waiting: { readonly sessions: readonly number[]; readonly single: number };
  /** a version is being trained, or samples are in transit */
  readonly trains: boolean;
  /** mean number of answers of the latest sessions; at least 1 */
  readonly usual: number;
};

/** The room of an adapter that one access key uses, and the number of keys that use any, including this one. */
export type KeyUse = Pick<Occupancy, 'open'> & {
  /** samples of its ended sessions, by session */
  readonly waiting: readonly number[];
  readonly keys: number;
};

/** A session to start: an attempt at a task, which may replace an open session. */
type Beginning = {
  readonly task: string | undefined;
  /** answers of the replaced session */
  readonly ending?: number;
};

/** ms after which a quiet session takes no room, and an open session is no longer protected from being overtaken */
export const PATIENCE_MS = 60_000;

/** Tolerance for sums of fractions. */
const EPSILON = 1e-9;

/**
 * Why no session can start; undefined: one can. Room is counted in versions: a batch keeps a session whole, so a session
 * with a batch of answers fills one version, and shorter sessions share one.
 *
 * - Waiting samples and open sessions may fill at most `maxStaleness + 1` versions.
 * - No open session may be overtaken by more versions than it has left. Attempts at one task may end together, so they
 *   do not overtake each other.
 * - If nothing waits or trains, nothing becomes stale. Then rewarded attempts at the same task, which stay open until
 *   the others are done, block nobody, up to the size of the largest batches. So clients that keep sessions open for
 *   each other can finish. An abandoned session counts until it is quiet.
 */
export function lackOfRoom(
  { maxSessions, batchSize, maxBatchSize, maxStaleness }: RoomLimits,
  { open, others, waiting, trains, usual }: Occupancy,
  { task, ending = 0 }: Beginning,
): 'sessions' | 'staleness' | undefined {
  if (open.length + others >= maxSessions) return 'sessions';
  const share = (samples: number) => Math.min(1, samples / batchSize);
  const versionsOf = (sessions: readonly OpenSession[]) =>
    sum(sessions.map(({ answers }) => share(Math.max(answers, usual))));
  const versions = maxStaleness + 1;
  const active = open.filter(({ quietMs }) => quietMs < PATIENCE_MS);
  const pending = sum([...waiting.sessions, ending].map(share)) + waiting.single / batchSize;

  if (pending + versionsOf(active) >= versions - EPSILON) {
    if (trains || pending >= 1) return 'staleness';
    const samples = sum(active.map(({ answers }) => Math.max(answers, usual)));
    if (samples >= versions * maxBatchSize) return 'staleness';
    const blocking = active.filter((session) => !(session.rewarded && session.task === task));
    if (versionsOf(blocking) >= versions - EPSILON) return 'staleness';
  }
  const isOvertaken = ({ task: ownTask, age, openMs }: OpenSession): boolean => {
    if (ownTask === task || age === undefined || openMs >= PATIENCE_MS) return false;
    const others = active.filter((other) => other.task !== ownTask);
    return Math.floor(pending + versionsOf(others) + share(usual) + EPSILON) > maxStaleness - age;
  };
  return active.some(isOvertaken) ? 'staleness' : undefined;
}

/**
 * Whether a key uses less than its share of the versions that all keys may fill. It may then start a session although
 * there is no room: others use more than their shares, and wait. For a while some samples may become stale, but no key
 * can take all the room by asking most often.
 */
export function hasLessThanItsShare(
  { batchSize, maxStaleness }: Pick<RoomLimits, 'batchSize' | 'maxStaleness'>,
  { open, waiting, keys }: KeyUse,
  usual: number,
): boolean {
  if (keys < 2) return false;
  const share = (samples: number) => Math.min(1, samples / batchSize);
  const versions = sum([...waiting, ...open.map(({ answers }) => Math.max(answers, usual))].map(share));
  return versions < (maxStaleness + 1) / keys - EPSILON;
}
