import type { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import type { Draft, RowChange, Rows } from '../../shared/log/rows.ts';
import {
  encoded,
  type FirstPrompt,
  type FirstRequest,
  type HeldFeedback,
  type LaneRow,
  type SessionRow,
} from './lane-tables.ts';

/** Removes what belongs to sessions that closed before the horizon, ms since 1970, and ids as old. */
export function forget(rows: Rows, draft: Draft, horizon: number): void {
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
    const [table, key, rest] = split(name);
    if (isOver(table, rest, row, horizon, (session) => isGone(key, session)))
      draft.table(table).delete(`${key}/${rest}`);
  }
}

/**
 * A lane in which nothing happens is not reached by `forget`: a sweeper says when it has rested for a day.
 * All goes but its time. Whatever came before is too late from then on, as no id of it is known.
 */
export function forgetLane(rows: Rows, { data }: LaneForgotten): readonly RowChange[] {
  const last = Date.parse(data.last);
  if (restedLane(rows) !== last) return [];
  const now: LaneRow = { time: last, sweptAt: last, floor: last + 1 };
  return [...rows.entries('')].map(([key]) => ({ key, row: key === LANE_NOW ? now : undefined }));
}

/** The time of a lane that holds something to forget and nothing that is open; ms since 1970. */
export function restedLane(rows: Rows): number | undefined {
  const lane = rows.get(LANE_NOW) as LaneRow | undefined;
  if (lane === undefined) return undefined;
  const sessions = [...rows.entries('session/')];
  if (sessions.some(([, row]) => (row as SessionRow).open)) return undefined;
  const holdsMore = sessions.length > 0 || [...rows.entries('')].length > 1;
  return holdsMore ? lane.time : undefined;
}

const LANE_NOW = 'lane/now';

function isOver(
  table: string,
  rest: string,
  row: unknown,
  horizon: number,
  isGone: (session: string | undefined) => boolean,
): boolean {
  switch (table) {
    case 'session':
      return isGone(rest);
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
      return isGone(decodeURIComponent(rest.slice(0, rest.indexOf('/'))));
    case 'seen':
    case 'deleted':
      return (row as number) < horizon;
    case 'early':
      return (row as readonly HeldFeedback[]).every((held) => held.time < horizon);
    default:
      return false;
  }
}

/** `<table>/<key>/<rest>`; the rest may hold slashes. */
function split(name: string): readonly [table: string, key: string, rest: string] {
  const first = name.indexOf('/');
  const second = name.indexOf('/', first + 1);
  return [name.slice(0, first), name.slice(first + 1, second), name.slice(second + 1)];
}
