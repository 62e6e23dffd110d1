export type RoomLimits = {
  readonly maxSessions: number;
  /** samples that a version consumes at least */
  readonly batchSize: number;
  /** samples that one consumes where more wait than may */
  readonly maxBatchSize: number;
  /** versions that a sample may be behind the head */
  readonly maxStaleness: number;
};

/** An open session, as far as it matters to room. */
export type OpenSession = {
  /** answers so far: each may become a sample when it ends */
  readonly answers: number;
  readonly task: string | undefined;
  readonly rewarded: boolean;
  /** versions since its first answer; undefined: its samples are too old already */
  readonly age: number | undefined;
  /** ms since it began */
  readonly openMs: number;
  /** ms since anything was heard of it */
  readonly quietMs: number;
};

/** Of one adapter: each learns from its own sessions. */
export type Occupancy = {
  readonly open: readonly OpenSession[];
  /** open sessions of other adapters, which take places and no room */
  readonly others: number;
  /** samples, those on their way and those in training included: by session, and those of no session */
  readonly waiting: { readonly sessions: readonly number[]; readonly single: number };
  /** a version is being made, or samples are on their way */
  readonly trains: boolean;
  /** answers of a session, the mean of the latest ones; at least 1 */
  readonly usual: number;
};

/** What one access key has of the room of an adapter, and how many keys have any of it, that one included. */
export type KeyUse = Pick<Occupancy, 'open'> & {
  /** samples of its sessions that ended, by session */
  readonly waiting: readonly number[];
  readonly keys: number;
};

/** What begins: an attempt at that task, in the place of a session that ends for it, if any. */
export type Beginning = {
  readonly task: string | undefined;
  /** answers of the session that ends */
  readonly ending?: number;
};

/** ms that others wait for a session that is quiet, or for one to end before its first answer is too old */
export const PATIENCE_MS = 60_000;

/** Sums of shares are no whole numbers. */
const EPSILON = 1e-9;

/**
 * Why no session can begin; undefined: one can. Counted in versions: a batch keeps a session whole, so one
 * that has a batch of answers makes one version, and shorter ones share one.
 *
 * - What waits and what is open must make no more than `maxStaleness + 1` versions.
 * - No session that is open may be overtaken by more versions than it has left. Attempts at one task may end
 *   together, so they are not in each other's way.
 * - Where nothing waits or trains nothing grows old: then rewarded attempts at the same task, which stay open
 *   until the others are done, are in nobody's way, up to what the largest batches consume. So whoever holds
 *   sessions for each other comes to an end; and a session that is left open counts until it is quiet.
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
  const heard = open.filter(({ quietMs }) => quietMs < PATIENCE_MS);
  const coming = sum([...waiting.sessions, ending].map(share)) + waiting.single / batchSize;

  if (coming + versionsOf(heard) >= versions - EPSILON) {
    if (trains || coming >= 1) return 'staleness';
    const samples = sum(heard.map(({ answers }) => Math.max(answers, usual)));
    if (samples >= versions * maxBatchSize) return 'staleness';
    const inTheWay = heard.filter((one) => !(one.rewarded && one.task === task));
    if (versionsOf(inTheWay) >= versions - EPSILON) return 'staleness';
  }
  const isOvertaken = ({ task: own, age, openMs }: OpenSession): boolean => {
    if (own === task || age === undefined || openMs >= PATIENCE_MS) return false;
    const others = heard.filter((other) => other.task !== own);
    return Math.floor(coming + versionsOf(others) + share(usual) + EPSILON) > maxStaleness - age;
  };
  return heard.some(isOvertaken) ? 'staleness' : undefined;
}

/**
 * Whether a key has less than its share of the versions that the samples of all keys may make. Then it may begin
 * though there is no room: others have more than their shares, and wait until they have less. So for a while
 * there may be more than trains in time; but nobody keeps all the room by asking for it most often.
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

const sum = (numbers: readonly number[]): number => numbers.reduce((before, one) => before + one, 0);
