import type { FoundTurn } from '../../../shared/views/found-turn.ts';
import { turnColumns, turnOf } from '../../../shared/views/turn-index/stored-turn.ts';
import { inOrder } from '../../../shared/views/turn-row.ts';
import type { TurnRows } from '../model/turns/turn-rows.ts';

/** Oldest first. */
export const allTurns = (rows: TurnRows): readonly FoundTurn[] =>
  rows
    .read((ask) => ask(`SELECT ${turnColumns} FROM turns`).map(turnOf))
    .toSorted((a, b) => inOrder(a.row, b.row));

export const allIds = (rows: TurnRows): readonly string[] => allTurns(rows).map(({ row }) => row.id);
