import type { Topic } from '../../events/define-event.ts';
import type { Recorded } from '../../log/event-log.ts';
import type { FoundTurn } from '../found-turn.ts';
import { recordTurns } from '../record-turns.ts';
import type { SessionState } from '../session-table.ts';
import { type BatchRow, inOrder, type TurnRow } from '../turn-row.ts';
import { TurnViews } from '../turn-views.ts';

/** All turns in maps: what rows in a file must agree with. */
export function createTurnsInMemory() {
  const views = new TurnViews({ keepsTexts: false });
  const rows = new Map<string, TurnRow>();
  const batches = new Map<string, BatchRow>();
  const sessions = new Map<string, SessionState>();
  const on: (record: Recorded, topic: Topic) => void = recordTurns({
    rows,
    batches,
    sessions,
    early: new Map(),
    views,
  });
  return {
    on,
    batches,
    session: (name: string): SessionState | undefined => sessions.get(name),
    /** Oldest first. */
    turns: (): readonly FoundTurn[] =>
      [...rows.values()].sort(inOrder).map((row) => ({ row, view: views.turns.get(row.id)! })),
  };
}
