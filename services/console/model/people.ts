import { sum } from '../../../shared/lang/numbers.ts';
import { columnText, damagedIndex, fromColumn } from '../../../shared/views/turn-index/index-file.ts';
import { turnColumns, turnOf } from '../../../shared/views/turn-index/stored-turn.ts';
import { wrongSums } from './turns/count-table.ts';
import { personCounts, sessionCounts } from './turns/turn-counts.ts';
import { type Ask, checked, type TurnRows } from './turns/turn-rows.ts';

/** Somebody with an access key. */
export type Person = {
  readonly key: string;
  readonly turns: number;
  readonly sessions: number;
  readonly good: number;
  readonly bad: number;
  /** ms since 1970 of the latest turn */
  readonly last: number;
};

/** In the order of their first turns. */
export const peopleIn = (rows: TurnRows): readonly Person[] =>
  rows.read((ask) => {
    const sessions = new Map(
      ask(`SELECT key, count(DISTINCT session) AS n FROM ${sessionCounts.name} GROUP BY key`).map((row) => [
        row.key,
        Number(row.n),
      ]),
    );
    return checked(
      ask(
        `SELECT key, turns, good, bad, last, sum <> 3 * turns + 5 * good + 7 * bad AS wrong
         FROM ${personCounts.name} ORDER BY first, key`,
      ),
    ).map((row) => ({
      key: fromColumn(row.key),
      turns: Number(row.turns),
      sessions: sessions.get(row.key) ?? 0,
      good: Number(row.good),
      bad: Number(row.bad),
      last: Number(row.last),
    }));
  });

type SessionItem = {
  readonly session: string;
  /** id of the access key, of the first turn */
  readonly person: string;
  readonly adapter: string;
  readonly task: string | null;
  readonly isRewarded: boolean;
  readonly isClosed: boolean;
  readonly turns: number;
  readonly trained: number;
  /** turns with a reward of their own */
  readonly rewards: number;
  readonly meanReward: number | null;
  /** ms since 1970 */
  readonly first: number;
  readonly last: number;
};

export type SessionPage = {
  readonly sessions: readonly SessionItem[];
  /** null: there are no more */
  readonly next: string | null;
};

/** Sessions with turns, the one with the latest turn first. @param cursor name of the last session that was shown */
export const sessionsIn = (
  rows: TurnRows,
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
): SessionPage =>
  rows.read((ask) => {
    const after = cursor === undefined ? undefined : timesOf(ask, columnText(cursor));
    const found = checked(
      ask(
        `SELECT session, sum(turns) AS turns, sum(trained) AS trained, sum(rewards) AS rewards,
           min(first) AS first, max(last) AS last, ${wrongSums(sessionCounts)} AS wrong
         FROM ${sessionCounts.name} GROUP BY session
         ${after === undefined ? '' : 'HAVING (-max(last), min(first), session) > (?, ?, ?)'}
         ORDER BY max(last) DESC, min(first), session LIMIT ?`,
        ...(after === undefined ? [] : [-after.last, after.first, columnText(cursor!)]),
        limit + 1,
      ),
    );
    const sessions = found.slice(0, limit).map((row): SessionItem => {
      const { row: first, view } = firstOf(ask, String(row.session));
      const rewards = Number(row.rewards);
      const state = rows.session(view.session);
      return {
        session: view.session,
        person: first.key,
        adapter: view.adapter,
        task: state?.task ?? null,
        isRewarded: first.isSettledByReward,
        isClosed: state?.isClosed ?? false,
        turns: Number(row.turns),
        trained: Number(row.trained),
        rewards,
        meanReward: rewards === 0 ? null : meanReward(ask, String(row.session)),
        first: Number(row.first),
        last: Number(row.last),
      };
    });
    return { sessions, next: found.length > limit ? (sessions.at(-1)?.session ?? null) : null };
  });

/** @param session as a column holds it, also below */
function timesOf(ask: Ask, session: string) {
  const [row] = ask(
    `SELECT min(first) AS first, max(last) AS last FROM ${sessionCounts.name} WHERE session = ?`,
    session,
  );
  return row?.last == null ? undefined : { first: Number(row.first), last: Number(row.last) };
}

function firstOf(ask: Ask, session: string) {
  const [row] = ask(`SELECT ${turnColumns} FROM turns WHERE session = ? ORDER BY ms, id LIMIT 1`, session);
  if (row === undefined) throw damagedIndex('a session has lost its turns');
  return turnOf(row);
}

/** Of the turns with a reward of their own. */
function meanReward(ask: Ask, session: string): number {
  const own = ask(`SELECT ${turnColumns} FROM turns WHERE session = ? ORDER BY ms, id`, session)
    .map((row) => turnOf(row).view.own)
    .filter((reward) => reward != null);
  return sum(own) / own.length;
}
