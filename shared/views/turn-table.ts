import type { Keyed } from '../lang/keyed.ts';
import { type EarlyRecords, recordTurns } from './record-turns.ts';
import type { SessionState } from './session-table.ts';
import type { BatchRow, TurnRow } from './turn-row.ts';
import { inOrder } from './turn-row.ts';
import type { TurnView } from './turn-view.ts';
import { TurnViews } from './turn-views.ts';
import { decodeTurns, encodeTurns, type TurnsState } from './turns-state.ts';

export type TurnTable = ReturnType<typeof createTurnTable>;

/**
 * All turns of the log as small rows without texts, and the sessions that clients named. Feed it the topics in the
 * order of the loop, or parts of them in this order.
 */
export function createTurnTable(from?: TurnsState) {
  let changed = new Set<string>();
  const noteChanged = (id: string): void => void changed.add(id);
  const { views, rows, batches } = restored(from, noteChanged);
  const early: EarlyRecords = new Map(from?.early);
  const sessions = new Map<string, SessionState>(from?.sessions);
  let ordered: TurnRow[] = [...rows.values()];
  let isOrdered = false;

  const add = (id: string, row: TurnRow): void => {
    rows.set(id, row);
    const last = ordered.at(-1);
    if (last !== undefined && inOrder(last, row) > 0) isOrdered = false;
    ordered.push(row);
  };
  const keyed: Keyed<TurnRow> = { get: (id) => rows.get(id), has: (id) => rows.has(id), set: add };
  const on = recordTurns({ rows: keyed, batches, sessions, early, views, changed: noteChanged });

  /** Oldest first. */
  const inTime = (): readonly TurnRow[] => {
    if (!isOrdered) ordered = ordered.sort(inOrder);
    isOrdered = true;
    return ordered;
  };

  /** An ended session goes with its last turn; an open one may have another. */
  const forgetSessions = (names: ReadonlySet<string>): void => {
    const kept = new Set(ordered.map(({ id }) => views.turns.get(id)!.session));
    for (const name of names)
      if (!kept.has(name) && sessions.get(name)?.isClosed === true) sessions.delete(name);
  };

  /** Forgets the turns whose answer, at its packed place, is gone from the log. Returns their number. */
  const forget = (isGone: (place: number) => boolean): number => {
    const gone = ordered.filter(({ at }) => isGone(at));
    if (gone.length === 0) return 0;
    const names = new Set(gone.map(({ id }) => views.turns.get(id)!.session));
    for (const { id } of gone) {
      rows.delete(id);
      views.forget(id);
      noteChanged(id);
    }
    // a reader may still go through the list of before
    ordered = ordered.filter(({ id }) => rows.has(id));
    forgetSessions(names);
    return gone.length;
  };

  return {
    on,
    forget,
    inTime,
    size: () => rows.size,
    row: (id: string): TurnRow | undefined => rows.get(id),
    view: (id: string): TurnView => views.turns.get(id)!,
    batch: (id: string): BatchRow | undefined => batches.get(id),
    batches: (): Iterable<BatchRow> => batches.values(),
    sessions: (): ReadonlyMap<string, SessionState> => sessions,
    /** Ids of the turns that changed since the last call. */
    takeChanged: (): ReadonlySet<string> => {
      const taken = changed;
      changed = new Set();
      return taken;
    },
    state: (): TurnsState =>
      encodeTurns({
        rows: inTime(),
        kept: views.kept,
        openBatches: views.openBatches(),
        heads: views.heads(),
        batches: [...batches.values()],
        early: [...early],
        sessions: [...sessions],
      }),
  };
}

/** The stored state is not kept in memory: it is as large as the table. */
function restored(from: TurnsState | undefined, changed: (id: string) => void) {
  const known = from && decodeTurns(from);
  const views = new TurnViews({ keepsTexts: false, changed, ...(known && { from: known.views }) });
  return {
    views,
    rows: new Map<string, TurnRow>(known?.rows.map((row) => [row.id, row])),
    batches: new Map<string, BatchRow>(known?.batches.map((batch) => [batch.id, batch])),
  };
}
