import type { KeyUse, Occupancy, OpenSession, RoomLimits } from './room.ts';
import type { EndedRow, OpenRow, Session } from './session-row.ts';
import type { SessionView } from './session-view.ts';
import type { WaitingSamples } from './waiting-samples.ts';

export type OccupancyOptions = {
  readonly view: Pick<SessionView, 'open' | 'endedSince' | 'usualAnswers' | 'inLane'>;
  readonly limits: Pick<RoomLimits, 'maxStaleness'>;
  readonly samplesOf: (adapter: string) => Omit<WaitingSamples, 'on'>;
  /** ms since 1970 */
  readonly now: () => number;
};

/** Everything that takes room when a session starts. */
type Occupied = {
  /** use of the adapter by all keys */
  readonly room: Occupancy;
  /** use of the adapter by the key that starts the session */
  readonly own: KeyUse;
  /** open sessions of that key, for all adapters */
  readonly ownOpen: number;
};

/** ms until the sample of an ended session should have arrived; some sessions have none */
const ON_THE_WAY_MS = 3_000;

/** @param ending an open session that the new one replaces, so it takes no room */
export function occupancyFor(
  { view, limits, samplesOf, now }: OccupancyOptions,
  adapter: string,
  keyId: string,
  ending: Session | undefined,
): Occupied {
  const at = now();
  const samples = samplesOf(adapter);
  const all = view.open().filter(({ session }) => session !== ending?.session);
  const open = all.filter((row) => row.adapter === adapter);
  const onTheWay = view
    .endedSince(at - ON_THE_WAY_MS)
    .filter((ended) => ended.adapter === adapter && !samples.hasCome(ended.session));
  const waiting = samples.bySession().map(({ lane, count }) => ({ keyId: view.inLane(lane)?.keyId, count }));
  const { sessions, single } = samples.waiting();
  const openSessionOf = ({
    interactions,
    rewarded,
    task,
    oldest,
    startedAt,
    heardAt,
  }: OpenRow): OpenSession => ({
    answers: interactions,
    rewarded,
    task,
    age: oldest === undefined ? 0 : samples.ageOf(oldest, limits.maxStaleness),
    openMs: at - startedAt,
    quietMs: at - heardAt,
  });
  const isOwn = (entry: Pick<EndedRow, 'keyId'> | { readonly keyId: string | undefined }) =>
    entry.keyId === keyId;
  const keys = new Set([keyId, ...[...open, ...onTheWay, ...waiting].flatMap((entry) => entry.keyId ?? [])]);
  return {
    room: {
      open: open.map(openSessionOf),
      others: 0,
      waiting: { sessions: [...sessions, ...onTheWay.map(({ answers }) => answers)], single },
      trains: samples.trains() || onTheWay.length > 0,
      usual: view.usualAnswers(),
    },
    own: {
      open: open.filter(isOwn).map(openSessionOf),
      waiting: [
        ...waiting.filter(isOwn).map(({ count }) => count),
        ...onTheWay.filter(isOwn).map(({ answers }) => answers),
      ],
      keys: keys.size,
    },
    ownOpen: all.filter(isOwn).length,
  };
}
