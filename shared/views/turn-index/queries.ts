import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { FoundTurn } from '../found-turn.ts';
import { type SessionState, sessionState } from '../session-table.ts';
import { columnText, damagedIndex, fromColumn, storedValue } from './index-file.ts';
import { TRAINED, turnColumns, turnOf } from './stored-turn.ts';

/** Which turns; absent: all. */
export type WantedTurns = {
  /** '': turns whose session is not known yet */
  readonly session?: string | undefined;
  readonly adapters?: readonly string[] | undefined;
};

export type IndexedSession = {
  /** '': the turns whose session is not known yet */
  readonly session: string;
  readonly turns: number;
  readonly trained: number;
  /** time of the first and the last turn */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly state: SessionState | undefined;
};

export type TurnIndex = ReturnType<typeof openQueries>;

/** What readers ask for. Turns are in the order of their times; those of the same time in the order of the log. */
export function openQueries(db: DatabaseSync) {
  const prepared = new Map<string, StatementSync>();
  const all = (sql: string, ...values: readonly SQLInputValue[]) => {
    const statement = prepared.get(sql) ?? db.prepare(sql);
    prepared.set(sql, statement);
    return statement.all(...values);
  };

  /** The last turns of those that also fulfil `condition`. */
  const select = (wanted: WantedTurns, condition: string, last: number | undefined): readonly FoundTurn[] => {
    const { where, values } = whereOf(wanted, condition);
    const rows = all(
      `SELECT ${turnColumns} FROM turns ${where} ORDER BY ms DESC, at DESC LIMIT ?`,
      ...values,
      last ?? NO_LIMIT,
    );
    return checked(rows.map(turnOf).reverse(), wanted);
  };
  const session = (name: string): SessionState | undefined => {
    const found = all('SELECT data, sum FROM sessions WHERE name = ?', columnText(name))[0];
    return found && sessionState.parse(storedValue(found));
  };
  const edge = (column: unknown, order: 'ASC' | 'DESC') => {
    const [row] = all(
      `SELECT ${turnColumns} FROM turns WHERE session = ? ORDER BY ms ${order}, at ${order} LIMIT 1`,
      String(column),
    );
    if (row === undefined) throw damagedIndex('a session has lost its turns');
    const turn = turnOf(row);
    return { ms: turn.row.ms, at: turn.row.at, time: turn.view.time };
  };

  const turn = (id: string): FoundTurn | undefined => {
    const [row] = all(`SELECT ${turnColumns} FROM turns WHERE id = ?`, columnText(id));
    return row && turnOf(row);
  };

  return {
    session,
    turn,
    /** @param last only so many of the latest */
    turns: (wanted: WantedTurns, last?: number): readonly FoundTurn[] => select(wanted, '1', last),
    /** Reactions that the judge heard as neither good nor bad. */
    unheard: (wanted: WantedTurns, last: number): readonly FoundTurn[] => select(wanted, 'heard = 1', last),
    count: (wanted: WantedTurns) => {
      const { where, values } = whereOf(wanted);
      const rows = all(
        `SELECT outcome, count(*) AS turns, count(heard) AS judged, total(heard) AS unheard, total(differs) AS differs,
           min(ms) AS first
         FROM turns ${where} GROUP BY outcome ORDER BY turns DESC, first`,
        ...values,
      );
      const sumOf = (name: string) => rows.reduce((sum, row) => sum + Number(row[name]), 0);
      return {
        turns: sumOf('turns'),
        judged: sumOf('judged'),
        unheard: sumOf('unheard'),
        differs: sumOf('differs'),
        /** most frequent first */
        outcomes: rows.map(({ outcome, turns }) => [fromColumn(outcome), Number(turns)] as const),
      };
    },
    /** The adapters that answered. */
    adapters: (wanted: WantedTurns): readonly string[] => {
      const { where, values } = whereOf(wanted);
      const isOfSession = wanted.session !== undefined;
      const sql = isOfSession ? `SELECT DISTINCT adapter FROM turns ${where}` : EACH_ADAPTER;
      const found = all(sql, ...(isOfSession ? values : [])).map(({ adapter }) => fromColumn(adapter));
      return found.filter((adapter) => wanted.adapters?.includes(adapter) ?? true);
    },
    /** The sessions in the order of their first turns, then those that clients started and that have no turn yet. */
    sessions: (): readonly IndexedSession[] => {
      const counted = all(
        'SELECT session, count(*) AS turns, total(outcome = ?) AS trained FROM turns GROUP BY session',
        TRAINED,
      ).map((row) => {
        const [first, last] = [edge(row.session, 'ASC'), edge(row.session, 'DESC')];
        const { turns, trained } = row;
        return { name: fromColumn(row.session), turns: Number(turns), trained: Number(trained), first, last };
      });
      const withTurns = counted
        .sort(({ first: a }, { first: b }) => a.ms - b.ms || a.at - b.at)
        .map(({ name, turns, trained, first, last }) => ({
          session: name,
          turns,
          trained,
          from: first.time,
          to: last.time,
          state: session(name),
        }));
      const without = all(
        'SELECT name FROM sessions WHERE started = 1 AND name NOT IN (SELECT session FROM turns) ORDER BY n',
      ).map(({ name }) => ({
        session: fromColumn(name),
        turns: 0,
        trained: 0,
        from: undefined,
        to: undefined,
        state: session(fromColumn(name)),
      }));
      return [...withTurns, ...without];
    },
  };
}

/** For LIMIT */
const NO_LIMIT = -1;

/** Jumps from adapter to adapter in the index instead of reading all turns. */
const EACH_ADAPTER = `
  WITH RECURSIVE each (adapter) AS (
    SELECT min(adapter) FROM turns
    UNION ALL
    SELECT (SELECT min(adapter) FROM turns WHERE adapter > each.adapter) FROM each WHERE each.adapter IS NOT NULL
  ) SELECT adapter FROM each WHERE adapter IS NOT NULL`;

function whereOf({ session, adapters }: WantedTurns, condition = '1') {
  const conditions = [
    condition,
    ...(session === undefined ? [] : ['session = ?']),
    ...(adapters === undefined ? [] : ['adapter IN (SELECT value FROM json_each(?))']),
  ];
  const values = [
    ...(session === undefined ? [] : [columnText(session)]),
    ...(adapters === undefined ? [] : [JSON.stringify(adapters.map(columnText))]),
  ];
  return { where: `WHERE ${conditions.join(' AND ')}`, values };
}

/** @throws when a damaged page of an index gave turns that were not asked for, or in another order */
function checked(turns: readonly FoundTurn[], { session, adapters }: WantedTurns): readonly FoundTurn[] {
  const isWanted = ({ view }: FoundTurn) =>
    (session ?? view.session) === view.session && (adapters?.includes(view.adapter) ?? true);
  const isAfter = (a: FoundTurn, b: FoundTurn) => a.row.ms - b.row.ms || a.row.at - b.row.at;
  if (!turns.every((turn, n) => isWanted(turn) && (n === 0 || isAfter(turns[n - 1]!, turn) < 0)))
    throw damagedIndex('an index gives other turns');
  return turns;
}
