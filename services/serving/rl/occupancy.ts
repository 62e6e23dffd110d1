import type { KeyUse, Occupancy, OpenSession, RoomLimits } from './room.ts';
import type { EndedRow, OpenRow, Session } from './session-table.ts';
import type { SessionView } from './session-view.ts';
import type { WaitingSamples } from './waiting-samples.ts';

export type OccupancyOptions = {
  readonly view: Pick<SessionView, 'open' | 'endedSince' | 'usualAnswers' | 'inLane'>;
  readonly limits: Pick<RoomLimits, 'maxStaleness'>;
  readonly samplesOf: (adapter: string) => Omit<WaitingSamples, 'on'>;
  /** ms since 1970 */
  readonly now: () => number;
};

/** What takes room where a session is to begin. */
export type Occupied = {
  /** Of the adapter, by all keys. */
  readonly room: Occupancy;
  /** Of the adapter, by the key that begins. */
  readonly own: KeyUse;
  /** Open sessions of that key, of all adapters. */
  readonly ownOpen: number;
};

/** ms that the sample of a session that ended may take to come; most come sooner, of some none comes */
const ON_THE_WAY_MS = 3_000;

/** @param ending a session that ends for the one that begins, and takes no room any more */
export function occupancyFor(
  { view, limits, samplesOf, now }: OccupancyOptions,
  adapter: string,
  keyId: string,
  ending: Session | undefined,
): Occupied {
  const at = now();
  const samples = samplesOf(adapter);
  const all = view.open().filter(({ session }) => session !== ending?.session);
  const open = all.filter((one) => one.adapter === adapter);
  const onTheWay = view
    .endedSince(at - ON_THE_WAY_MS)
    .filter((ended) => ended.adapter === adapter && !samples.hasCome(ended.session));
  const waiting = samples.bySession().map(({ lane, count }) => ({ keyId: view.inLane(lane)?.keyId, count }));
  const { sessions, single } = samples.waiting();
  const shown = ({ interactions, rewarded, task, oldest, startedAt, heardAt }: OpenRow): OpenSession => ({
    ...{ answers: interactions, rewarded, task },
    age: oldest === undefined ? 0 : samples.ageOf(oldest, limits.maxStaleness),
    ...{ openMs: at - startedAt, quietMs: at - heardAt },
  });
  const isOwn = (one: Pick<EndedRow, 'keyId'> | { readonly keyId: string | undefined }) =>
    one.keyId === keyId;
  const keys = new Set([keyId, ...[...open, ...onTheWay, ...waiting].flatMap((one) => one.keyId ?? [])]);
  return {
    room: {
      open: open.map(shown),
      others: 0,
      waiting: { sessions: [...sessions, ...onTheWay.map(({ answers }) => answers)], single },
      trains: samples.trains() || onTheWay.length > 0,
      usual: view.usualAnswers(),
    },
    own: {
      open: open.filter(isOwn).map(shown),
      waiting: [
        ...waiting.filter(isOwn).map(({ count }) => count),
        ...onTheWay.filter(isOwn).map(({ answers }) => answers),
      ],
      keys: keys.size,
    },
    ownOpen: all.filter(isOwn).length,
  };
}
