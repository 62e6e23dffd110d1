import { columnText, damagedIndex } from '../../../shared/views/turn-index/index-file.ts';
import { turnColumns, turnOf } from '../../../shared/views/turn-index/stored-turn.ts';
import { inOrder } from '../../../shared/views/turn-row.ts';
import { type WishKind, wishes } from '../../../shared/wishes/wishes.ts';
import { wrongSums } from './turns/count-table.ts';
import { QUARTER_MS, sessionCounts, wishCounts } from './turns/turn-counts.ts';
import { type Ask, checked } from './turns/turn-rows.ts';

/** A kind of complaint, and how long it has not been heard. */
export type Complaint = {
  readonly wish: string;
  readonly hint: string;
  readonly times: number;
  readonly last: number;
  readonly lastTurn: string;
  readonly sessionsSince: number;
};

/** Complaints of known kinds, the one that was silent for the fewest sessions first. @param adapter as a column holds it */
export function complaintsIn(ask: Ask, adapter: string): readonly Complaint[] {
  const heard = checked(
    ask(
      `SELECT wish, sum(times) AS times, min(quarter) AS first, max(quarter) AS last, ${wrongSums(wishCounts)} AS wrong
       FROM ${wishCounts.name} WHERE adapter = ? GROUP BY wish`,
      adapter,
    ),
  ).map((row) => {
    const wish = String(row.wish) as WishKind;
    const turn = (quarter: unknown, order: 'ASC' | 'DESC') =>
      complaintOf(ask, { adapter, wish, quarter: Number(quarter), order });
    return { wish, times: Number(row.times), first: turn(row.first, 'ASC'), last: turn(row.last, 'DESC') };
  });
  return heard
    .sort(({ first: a, wish: one }, { first: b, wish: other }) =>
      a.row.id === b.row.id ? a.row.wishes.indexOf(one) - a.row.wishes.indexOf(other) : inOrder(a.row, b.row),
    )
    .map(({ wish, times, last: { row, view } }) => ({
      wish,
      hint: wishes[wish].hint,
      times,
      last: row.ms,
      lastTurn: row.id,
      sessionsSince: sessionsAfter(ask, adapter, { ...row, session: view.session }),
    }))
    .sort((a, b) => a.sessionsSince - b.sessionsSince);
}

type Wanted = {
  readonly adapter: string;
  readonly wish: WishKind;
  readonly quarter: number;
  readonly order: 'ASC' | 'DESC';
};

/** The first or last turn of a quarter of an hour with this complaint. */
function complaintOf(ask: Ask, { adapter, wish, quarter, order }: Wanted) {
  const found = ask(
    `SELECT ${turnColumns} FROM turns
     WHERE ms >= ? AND ms < ? AND adapter = ? AND live = 1 AND verdict = -1 ORDER BY ms ${order}, id ${order}`,
    quarter * QUARTER_MS,
    (quarter + 1) * QUARTER_MS,
    adapter,
  )
    .map(turnOf)
    .find(({ row }) => row.wishes.includes(wish));
  if (found === undefined) throw damagedIndex('a complaint has lost its turn');
  return found;
}

/** Other sessions with a live turn after this one, which may itself go on. */
function sessionsAfter(
  ask: Ask,
  adapter: string,
  { ms, id, session }: { readonly ms: number; readonly id: string; readonly session: string },
): number {
  const [row] = ask(
    `SELECT count(DISTINCT session) AS n FROM ${sessionCounts.name} AS s
     WHERE adapter = ? AND live = 1 AND session <> ? AND (last > ? OR (last = ? AND EXISTS (
       SELECT 1 FROM turns AS t WHERE t.session = s.session AND t.ms = s.last AND t.id > ?
         AND t.key = s.key AND t.adapter = s.adapter AND t.live = 1)))`,
    adapter,
    columnText(session),
    ms,
    ms,
    columnText(id),
  );
  return Number(row!.n);
}
