import type { DatabaseSync } from 'node:sqlite';
import type { Keyed } from '../../lang/keyed.ts';
import { type SessionState, sessionState } from '../session-table.ts';
import type { BatchRow, TurnRow } from '../turn-row.ts';
import type { TurnParts } from '../turn-tracker.ts';
import { cacheRows } from './cached-rows.ts';
import { columnText, damagedIndex, storedText, storedValue } from './index-file.ts';
import { columnsOf, type IndexedTurn, type TrackedTurn, turnColumns, turnOf } from './stored-turn.ts';

/** The rows of the index, for a reader of the log that changes them. */
export function openIndexRows(db: DatabaseSync) {
  const turns = cacheRows(turnTable(db));
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
  const all = [turns, sessions];
  return {
    rows,
    parts,
    batches: noBatches,
    sessions: keyedSessions,
    flush: (): void => {
      for (const table of all) table.flush();
    },
    /** After a commit. */
    trim: (): void => {
      for (const table of all) table.trim();
    },
  };
}

/** No command asks for batches: each seems known already, so nothing is noted. */
const noBatches: Keyed<BatchRow> = { get: () => undefined, has: () => true, set: () => {} };

const nothing = {
  view: undefined,
  underneath: undefined,
  sample: undefined,
  trained: undefined,
  seen: undefined,
};

function turnTable(db: DatabaseSync) {
  const one = db.prepare(`SELECT ${turnColumns} FROM turns WHERE id = ?`);
  const insert = db.prepare(
    `INSERT INTO turns (at, id, ms, session, adapter, outcome, heard, differs, data, sum)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  // an index is written only if one of its columns is named here
  const update = db.prepare(
    'UPDATE turns SET outcome = ?, heard = ?, differs = ?, data = ?, sum = ? WHERE at = ? AND session = ?',
  );
  const move = db.prepare('UPDATE turns SET session = ? WHERE at = ?');
  return {
    load: (id: string): IndexedTurn | undefined => {
      const found = one.get(columnText(id));
      return found && turnOf(found);
    },
    insert: (_id: string, turn: IndexedTurn): void => {
      const { at, id, ms, session, adapter, outcome, heard, differs, data, sum } = columnsOf(turn);
      insert.run(at, id, ms, session, adapter, outcome, heard, differs, data, sum);
    },
    update: (_id: string, turn: IndexedTurn): void => {
      const { at, session, outcome, heard, differs, data, sum } = columnsOf(turn);
      const change = () => Number(update.run(outcome, heard, differs, data, sum, at, session).changes);
      if (change() === 1) return;
      move.run(session, at);
      if (change() !== 1) throw damagedIndex('a turn is gone');
    },
  };
}

function sessionTable(db: DatabaseSync) {
  const one = db.prepare('SELECT data, sum FROM sessions WHERE name = ?');
  const put = db.prepare(
    `INSERT INTO sessions (name, started, data, sum) VALUES (?, ?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET started = excluded.started, data = excluded.data, sum = excluded.sum`,
  );
  const save = (name: string, state: SessionState): void => {
    const { data, sum } = storedText(state);
    put.run(columnText(name), Number(state.isStarted), data, sum);
  };
  return {
    load: (name: string): SessionState | undefined => {
      const found = one.get(columnText(name));
      return found && sessionState.parse(storedValue(found));
    },
    insert: save,
    update: save,
  };
}
