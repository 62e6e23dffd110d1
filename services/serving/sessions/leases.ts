import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { EnvironmentActed } from '../../../shared/events/environment-acted.ts';
import { EnvironmentEvaluated } from '../../../shared/events/environment-evaluated.ts';
import { EnvironmentFailed } from '../../../shared/events/environment-failed.ts';
import { EnvironmentLeased } from '../../../shared/events/environment-leased.ts';
import { EnvironmentReady } from '../../../shared/events/environment-ready.ts';
import { EnvironmentReleased } from '../../../shared/events/environment-released.ts';
import { EnvironmentRenewed } from '../../../shared/events/environment-renewed.ts';
import { createInTurn } from '../../../shared/lang/async.ts';
import { ServingError } from '../errors.ts';
import { laneOf } from './lane.ts';
import type { LeaseFact } from './lease-fact.ts';
import type { Lease, LeaseTable } from './lease-table.ts';
import { RETRY_SECONDS, type RecordOptions } from './session-records.ts';
import type { SessionView } from './session-view.ts';

/** Environments that sessions lease. All facts of a lease are in the log, in the lane of its session. */
export type Leases = {
  /**
   * Records a fact. A repeated one changes nothing. The first rating of an attempt counts.
   * @returns the lease after it
   * @throws ServingError SESSION_NOT_FOUND, LEASE_NOT_FOUND, LEASE_ENDED, NOT_RECORDED, SESSIONS_UNREAD
   */
  readonly record: (keyId: string, session: string, fact: LeaseFact) => Promise<Lease>;
  /** Live leases of an access key. @throws ServingError SESSIONS_UNREAD */
  readonly list: (keyId: string) => Promise<readonly Lease[]>;
  /** Records the end of each lease that was not renewed in time. */
  readonly sweep: () => Promise<void>;
};

type Options = {
  readonly view: Pick<SessionView, 'inLane' | 'reachEnd' | 'isCaughtUp'>;
  readonly table: LeaseTable;
  readonly recorder: Pick<RecordOptions['recorder'], 'record'>;
  /** ms since 1970 */
  readonly now: () => number;
};

/** ms; after a start, clients that could not renew their leases meanwhile have this long at most */
const LONGEST_GRACE_MS = 30_000;

export function openLeases({ view, table, recorder, now }: Options): Leases {
  const inTurn = createInTurn();
  const startedAt = now();
  const catchUp = async (): Promise<void> => {
    await view.reachEnd();
    if (!view.isCaughtUp()) throw ServingError.SESSIONS_UNREAD({ retryAfterSeconds: RETRY_SECONDS });
  };
  const append = async (event: ClawLoopEvent): Promise<void> => {
    if (!(await recorder.record(event)))
      throw ServingError.NOT_RECORDED({ retryAfterSeconds: RETRY_SECONDS });
    table.apply(event);
  };
  const lease = async (
    keyId: string,
    session: string,
    fact: LeaseFact & { what: 'leased' },
  ): Promise<void> => {
    const lane = laneOf(keyId, session);
    const open = view.inLane(lane);
    if (open?.keyId !== keyId || open.session !== session || open.ended !== undefined)
      throw ServingError.SESSION_NOT_FOUND({ session, param: 'session_id' });
    if (table.of(lane) === undefined) await append(eventOf({ lane, key: keyId, session }, fact, now()));
  };
  const isExpired = ({ expiresAt, ttlMs }: Lease): boolean =>
    now() > Math.max(expiresAt, startedAt + Math.min(ttlMs, LONGEST_GRACE_MS));
  /** Whether the fact is in the log already, so that its sender only repeats it. */
  const isKnown = ({ reward, released }: Lease, { what }: LeaseFact): boolean =>
    (what === 'evaluated' && reward !== undefined) || (what === 'released' && released !== undefined);

  return {
    record: (keyId, session, fact) =>
      inTurn(session, async () => {
        await catchUp();
        if (fact.what === 'leased') await lease(keyId, session, fact);
        const lane = laneOf(keyId, session);
        const current = table.of(lane);
        if (current?.key !== keyId || current.session !== session)
          throw ServingError.LEASE_NOT_FOUND({ session, param: 'session_id' });
        if (isKnown(current, fact)) return current;
        if (current.released !== undefined || isExpired(current)) throw ServingError.LEASE_ENDED({ session });
        if (fact.what !== 'leased') await append(eventOf({ lane, key: keyId, session }, fact, now()));
        return table.of(lane)!;
      }),
    list: async (keyId) => {
      await catchUp();
      return table.live().filter(({ key }) => key === keyId);
    },
    sweep: async () => {
      if (!view.isCaughtUp()) return;
      for (const { lane, key, session } of table.live().filter(isExpired))
        await inTurn(session, async () => {
          const latest = table.of(lane);
          if (latest !== undefined && latest.released === undefined && isExpired(latest))
            await append(released({ lane, key, session }, 'expiry', now())).catch(() => {}); // swept again
        });
    },
  };
}

const source = 'clawloop/serving';

type Named = Pick<Lease, 'lane' | 'key' | 'session'>;

const released = (lease: Named, by: 'client' | 'expiry', at: number): EnvironmentReleased =>
  EnvironmentReleased.create({
    id: `${lease.session}/environment/released`,
    source,
    time: new Date(at).toISOString(),
    data: { ...lease, by },
  });

/** The event of a fact. Its id is the same each time the fact is sent. */
function eventOf(lease: Named, fact: LeaseFact, at: number): ClawLoopEvent {
  const head = (name: string) => ({
    id: `${lease.session}/environment/${name}`,
    source,
    time: new Date(at).toISOString(),
  });
  switch (fact.what) {
    case 'leased': {
      const { what: _, ttl_seconds: ttl, task_digest: taskDigest, ...rest } = fact;
      const data = { ...lease, ...rest, taskDigest, expiresAt: after(at, ttl) };
      return EnvironmentLeased.create({ ...head('leased'), data });
    }
    case 'ready': {
      const { what: _, ...data } = fact;
      return EnvironmentReady.create({ ...head('ready'), data: { ...lease, ...data } });
    }
    case 'acted': {
      const { what: _, ...data } = fact;
      return EnvironmentActed.create({ ...head(`acted/${fact.call}`), data: { ...lease, ...data } });
    }
    case 'renewed': {
      const data = { ...lease, renewal: fact.renewal, expiresAt: after(at, fact.ttl_seconds) };
      return EnvironmentRenewed.create({ ...head(`renewed/${fact.renewal}`), data });
    }
    case 'evaluated': {
      const { what: _, ...data } = fact;
      return EnvironmentEvaluated.create({ ...head('evaluated'), data: { ...lease, ...data } });
    }
    case 'failed': {
      const { what: _, ...data } = fact;
      return EnvironmentFailed.create({ ...head('failed'), data: { ...lease, ...data } });
    }
    case 'released':
      return released(lease, 'client', at);
  }
}

const after = (at: number, seconds: number): string => new Date(at + seconds * 1000).toISOString();
