import type { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import { DAY_MS } from '../../shared/log/event-clock.ts';
import type { Draft, RowChange, Rows } from '../../shared/log/rows.ts';
import type { AttributeSettings } from './fold-settings.ts';
import {
  encoded,
  type FirstPrompt,
  type FirstRequest,
  type LaneRow,
  type PendingFeedback,
  type SessionRow,
} from './lane-tables.ts';

/**
 * How much longer than a day the deletion of an answer that has not come is kept, ms. Clocks of several servings may
 * differ, so an answer from an outbox may be dated long after its deletion.
 */
const EARLY_MS = 6 * DAY_MS;

/** Removes rows of sessions that closed before the horizon, ms since 1970, and ids that are as old. */
export function forget(
  rows: Rows,
  draft: Draft,
  horizon: number,
  { keepsDeletions = false }: Pick<AttributeSettings, 'keepsDeletions'>,
): void {
  const gone = new Set<string>();
  const place = (key: string, session: string) => `${key} ${session}`;
  for (const [name, row] of rows.entries('session/')) {
    const { open, closedAt } = row as SessionRow;
    const [, key, session] = split(name);
    if (!open && closedAt !== null && closedAt < horizon) gone.add(place(key, encoded(session)));
  }
  const isGone = (key: string, session: string | undefined) =>
    session !== undefined && gone.has(place(key, encoded(session)));
  for (const [name, row] of rows.entries('')) {
    const [table, key, id] = split(name);
    if (table === 'deleted' && keepsDeletions && (row as number) >= horizon - EARLY_MS) continue;
    const isSessionGone = (session: string | undefined) => isGone(key, session);
    if (isExpired({ table, id, row }, horizon, isSessionGone)) draft.table(table).delete(`${key}/${id}`);
  }
}

/**
 * Forgets an inactive lane, which `forget` does not reach: a sweeper reports it after a day. Only the lane's
 * time is kept. Earlier events are too late from then on, because their ids are no longer known.
 */
export function forgetLane(rows: Rows, { data }: LaneForgotten): readonly RowChange[] {
  const last = Date.parse(data.last);
  if (inactiveSince(rows) !== last) return [];
  const now: LaneRow = { time: last, sweptAt: last, floor: last + 1 };
  return [...rows.entries('')].map(([key]) => ({ key, row: key === LANE_NOW ? now : undefined }));
}

/** Time of the last event, ms since 1970, of a lane with something to forget and no open session. */
export function inactiveSince(rows: Rows): number | undefined {
  const lane = rows.get(LANE_NOW) as LaneRow | undefined;
  if (lane === undefined) return undefined;
  const sessions = [...rows.entries('session/')];
  if (sessions.some(([, row]) => (row as SessionRow).open)) return undefined;
  const holdsMore = sessions.length > 0 || [...rows.entries('')].length > 1;
  return holdsMore ? lane.time : undefined;
}

const LANE_NOW = 'lane/now';

function isExpired(
  { table, id, row }: { readonly table: string; readonly id: string; readonly row: unknown },
  horizon: number,
  isGone: (session: string | undefined) => boolean,
): boolean {
  switch (table) {
    case 'session':
      return isGone(id);
    case 'turn': {
      const { session, time } = row as { readonly session?: string; readonly time?: number };
      return session === undefined ? (time ?? 0) < horizon : isGone(session);
    }
    case 'first-prompt':
      return isGone((row as FirstPrompt).session);
    case 'first-request':
      return (row as readonly FirstRequest[]).every(({ session }) => isGone(session));
    case 'known':
    case 'aside':
    case 'shown':
    case 'summary':
    case 'trace':
    case 'user':
      return isGone(row as string);
    case 'said':
    case 'answered':
    case 'summed':
      return (row as readonly string[]).every(isGone);
    case 'answer':
    case 'prompt':
    case 'node':
    case 'node-at':
    case 'next':
      return isGone(decodeURIComponent(id.slice(0, id.indexOf('/'))));
    case 'seen':
    case 'deleted':
      return (row as number) < horizon;
    case 'early':
      return (row as readonly PendingFeedback[]).every(({ time }) => time < horizon);
    default:
      return false;
  }
}

/** Splits `<table>/<key>/<id>`; the id may contain slashes. */
function split(name: string): readonly [table: string, key: string, id: string] {
  const first = name.indexOf('/');
  const second = name.indexOf('/', first + 1);
  return [name.slice(0, first), name.slice(first + 1, second), name.slice(second + 1)];
}
