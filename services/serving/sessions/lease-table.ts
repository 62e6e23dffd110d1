import { z } from 'zod';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { EnvironmentLeased } from '../../../shared/events/environment-leased.ts';

/** The lease of an environment by the session of an attempt, as far as the log has been read. */
export type Lease = Pick<
  EnvironmentLeased['data'],
  'lane' | 'key' | 'session' | 'environment' | 'task' | 'attempt' | 'host'
> & {
  readonly leasedAt: string;
  /** ms since 1970; a later renewal moves it */
  readonly expiresAt: number;
  /** ms from a renewal to the expiry */
  readonly ttlMs: number;
  readonly actions: number;
  /** null: evaluated, but the environment does not rate; undefined: not evaluated */
  readonly reward: number | null | undefined;
  /** undefined: the lease is live */
  readonly released: 'client' | 'expiry' | undefined;
};

/** Leases as a fold of `conversations`, in memory: the live ones, and the latest `most` of those released. */
export type LeaseTable = {
  /** Applies an event. A repeated event, from this process and then from the log, has no further effect. */
  readonly apply: (event: ClawLoopEvent) => void;
  readonly of: (lane: string) => Lease | undefined;
  /** live ones, oldest first */
  readonly live: () => readonly Lease[];
  readonly state: () => LeasesState;
};

/** Leases to be stored; the released ones in the order of their release, after the live ones. */
export const leasesState = z.array(
  z.object({
    ...{ lane: z.string(), key: z.string(), session: z.string(), environment: z.string(), task: z.string() },
    ...{ attempt: z.int(), host: z.string(), leasedAt: z.string(), expiresAt: z.number(), ttlMs: z.number() },
    actions: z.int(),
    reward: z.number().nullable().optional(),
    released: z.enum(['client', 'expiry']).optional(),
    calls: z.array(z.string()),
  }),
);
type LeasesState = z.output<typeof leasesState>;

type Row = { -readonly [Name in keyof Omit<Lease, 'actions'>]: Lease[Name] } & {
  /** ids of actions; emptied at the release */
  readonly calls: Set<string>;
  acted: number;
};

export const leaseEventTypes: ReadonlySet<string> = new Set([
  'environment.leased',
  'environment.acted',
  'environment.renewed',
  'environment.evaluated',
  'environment.released',
]);

type TableOptions = { readonly most?: number; readonly from?: LeasesState | undefined };

export function createLeaseTable({ most = 1_000, from = [] }: TableOptions = {}): LeaseTable {
  const rows = new Map(
    from.map(({ actions, calls, ...lease }) => [
      lease.lane,
      { ...lease, calls: new Set(calls), acted: actions } as Row,
    ]),
  );
  const released = new Set(from.filter((lease) => lease.released !== undefined).map(({ lane }) => lane));
  const onLeased = ({ time, data }: EnvironmentLeased): void => {
    if (rows.has(data.lane)) return;
    const expiresAt = Date.parse(data.expiresAt);
    const { lane, key, session, environment, task, attempt, host } = data;
    rows.set(lane, {
      ...{ lane, key, session, environment, task, attempt, host },
      leasedAt: time,
      expiresAt,
      ttlMs: expiresAt - Date.parse(time),
      reward: undefined,
      released: undefined,
      calls: new Set(),
      acted: 0,
    });
  };
  const release = (row: Row, by: NonNullable<Lease['released']>): void => {
    row.released ??= by;
    row.calls.clear();
    released.add(row.lane);
    if (released.size <= most) return;
    const [oldest] = released;
    released.delete(oldest!);
    rows.delete(oldest!);
  };
  const shown = ({ calls: _, acted, ...row }: Row): Lease => ({ ...row, actions: acted });
  return {
    apply: (event) => {
      if (event.type === 'environment.leased') return onLeased(event);
      const row = rows.get(event.subject);
      if (row === undefined || row.released !== undefined) return;
      if (event.type === 'environment.acted') row.acted = row.calls.add(event.data.call).size;
      else if (event.type === 'environment.evaluated') {
        if (row.reward === undefined) row.reward = event.data.reward;
      } else if (event.type === 'environment.released') release(row, event.data.by);
      else if (event.type === 'environment.renewed')
        row.expiresAt = Math.max(row.expiresAt, Date.parse(event.data.expiresAt));
    },
    of: (lane) => {
      const row = rows.get(lane);
      return row && shown(row);
    },
    state: () => {
      const live = [...rows.values()].filter((row) => row.released === undefined);
      const stored = (row: Row) => ({ ...shown(row), calls: [...row.calls] });
      return [...live, ...[...released].map((lane) => rows.get(lane)!)].map(stored);
    },
    live: () => [...rows.values()].filter((row) => row.released === undefined).map(shown),
  };
}
