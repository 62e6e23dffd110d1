import type { DatabaseSync } from 'node:sqlite';
import type { Keyed } from '../../lang/keyed.ts';
import { type SessionState, sessionState } from '../session-table.ts';
import type { BatchRow, TurnRow } from '../turn-row.ts';
import type { TurnParts } from '../turn-tracker.ts';
import { cacheRows } from './cached-rows.ts';
import { columnText, damagedIndex, fromColumn, storedText, storedValue } from './index-file.ts';
import {
  columnsOf,
  type IndexedTurn,
  type TrackedTurn,
  type TurnColumns,
  turnColumns,
  turnOf,
} from './stored-turn.ts';

/** What a program keeps besides turns and sessions, in the transactions that change these. */
export type Besides = {
  readonly batches: Keyed<BatchRow>;
  /** Called before a turn is written. Undefined: it was not there, or is removed. */
  readonly noteTurn: (before: CountedTurn | undefined, after: CountedTurn | undefined) => void;
  /** After all turns were written. */
  readonly flush: () => void;
  /** After all turns that a trim removed are gone. */
  readonly finishRemoval: () => void;
  /** After a commit. */
  readonly trim: () => void;
};

/** Facts of a turn that are counted. */
export type CountedTurn = Omit<TurnColumns, 'data' | 'sum'> &
  Pick<TurnRow, 'wishes'> & {
    /** of its own, in a session with rewards */
    readonly hasReward: boolean;
    /** the person said something, or gave feedback */
    readonly hasReaction: boolean;
  };

/** Nothing is counted, and no batch is noted, since each seems known already. */
export const nothingBesides: Besides = {
  batches: { get: () => undefined, has: () => true, set: () => {} },
  noteTurn: () => {},
  flush: () => {},
  finishRemoval: () => {},
  trim: () => {},
};

/** The rows of the index, for a reader of the log that changes them. */
export function openIndexRows(db: DatabaseSync, besides: Besides) {
  const turns = cacheRows(turnTable(db, besides.noteTurn));
  const sessions = cacheRows(sessionTable(db));
  const rows: Keyed<TurnRow> = {
    get: (id) => turns.change(id)?.row,
    has: (id) => turns.get(id) !== undefined,
    set: (id, row) => turns.set(id, { row, known: { ...nothing } }),
  };
  const part = <Name extends keyof TrackedTurn>(name: Name): Keyed<TrackedTurn[Name]> => ({
    get: (id) => turns.get(id)?.known[name],
    has: (id) => turns.get(id)?.known[name] !== undefined,
    set: (id, value) => {
      const turn = turns.change(id);
      if (turn !== undefined) turn.known[name] = value;
    },
  });
  const parts: TurnParts = {
    views: part('view'),
    underneath: part('underneath'),
    samples: part('sample'),
    trained: part('trained'),
    seen: part('seen'),
  };
  const keyedSessions: Keyed<SessionState> = {
    get: sessions.get,
    has: (name) => sessions.get(name) !== undefined,
    set: sessions.set,
  };
  const removing = openRemoval(db);
  return {
    rows,
    parts,
    batches: besides.batches,
    sessions: keyedSessions,
    flush: (): void => {
      turns.flush();
      sessions.flush();
      besides.flush();
    },
    /** After a commit. */
    trim: (): void => {
      for (const table of [turns, sessions, besides]) table.trim();
    },
    /** After `flush`: removes the turn of this row. */
    removeTurn: (found: Readonly<Record<string, unknown>>): void => {
      const turn = turnOf(found);
      removing.turn(turn.row.at);
      besides.noteTurn(countedIn(turn, columnsOf(turn)), undefined);
      turns.forget(turn.row.id);
    },
    /** Removes an ended session without turns; an open one may have another turn. */
    removeEmptySession: (column: string): void => {
      const name = fromColumn(column);
      if (removing.hasTurns(column) || sessions.get(name)?.isClosed !== true) return;
      removing.session(column);
      sessions.forget(name);
    },
  };
}

const nothing = {
  view: undefined,
  underneath: undefined,
  sample: undefined,
  trained: undefined,
  seen: undefined,
};

function openRemoval(db: DatabaseSync) {
  const turn = db.prepare('DELETE FROM turns WHERE at = ?');
  const session = db.prepare('DELETE FROM sessions WHERE name = ?');
  const ofSession = db.prepare('SELECT 1 FROM turns WHERE session = ? LIMIT 1');
  return {
    turn: (at: number): void => void turn.run(at),
    session: (column: string): void => void session.run(column),
    hasTurns: (column: string): boolean => ofSession.get(column) !== undefined,
  };
}

const countedIn = (
  { row, known: { view } }: IndexedTurn,
  { data: _data, sum: _sum, ...columns }: TurnColumns,
): CountedTurn => ({
  ...columns,
  wishes: row.wishes,
  hasReward: view?.own != null,
  hasReaction: row.reactionAt !== undefined || view?.source === 'feedback',
});

function turnTable(db: DatabaseSync, noteTurn: Besides['noteTurn']) {
  const one = db.prepare(`SELECT ${turnColumns} FROM turns WHERE id = ?`);
  const insert = db.prepare(
    `INSERT INTO turns (${turnColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  // an index is written only if one of its columns is named here
  const update = db.prepare('UPDATE turns SET heard = ?, differs = ?, data = ?, sum = ? WHERE at = ?');
  const settle = db.prepare('UPDATE turns SET outcome = ?, verdict = ? WHERE at = ?');
  const move = db.prepare('UPDATE turns SET session = ? WHERE at = ?');
  return {
    load: (id: string) => {
      const found = one.get(columnText(id));
      if (found === undefined) return undefined;
      const value: IndexedTurn = turnOf(found);
      return { value, stored: countedIn(value, found as TurnColumns) };
    },
    write: (_id: string, turn: IndexedTurn, stored: CountedTurn | undefined): CountedTurn => {
      const columns = columnsOf(turn);
      const { at, id, ms, session, adapter, key, version, live } = columns;
      const { outcome, verdict, heard, differs, data, sum } = columns;
      const counted = countedIn(turn, columns);
      noteTurn(stored, counted);
      if (stored === undefined) {
        const fixed = [at, id, ms, session, adapter, key, version, live];
        insert.run(...fixed, outcome, verdict, heard, differs, data, sum);
        return counted;
      }
      if (stored.session !== session) move.run(session, at);
      if (stored.outcome !== outcome || stored.verdict !== verdict) settle.run(outcome, verdict, at);
      if (update.run(heard, differs, data, sum, at).changes !== 1) throw damagedIndex('a turn is gone');
      return counted;
    },
  };
}

function sessionTable(db: DatabaseSync) {
  const one = db.prepare('SELECT data, sum FROM sessions WHERE name = ?');
  const put = db.prepare(
    `INSERT INTO sessions (name, started, data, sum) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET started = excluded.started, data = excluded.data, sum = excluded.sum`,
  );
  return {
    load: (name: string) => {
      const found = one.get(columnText(name));
      return found && { value: sessionState.parse(storedValue(found)), stored: true };
    },
    write: (name: string, state: SessionState): boolean => {
      const { data, sum } = storedText(state);
      put.run(columnText(name), Number(state.isStarted), data, sum);
      return true;
    },
  };
}
