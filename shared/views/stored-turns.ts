import type { SnapshotKind } from '../log/snapshots/snapshots.ts';
import type { TurnRow } from './turn-row.ts';
import type { TurnView } from './turn-view.ts';
import { turnsState } from './turns-state.ts';

/** The turn table of the console. */
export const storedTurns = {
  name: 'turns',
  version: 1,
  state: turnsState,
} satisfies SnapshotKind<unknown>;

export type FoundTurn = { readonly row: TurnRow; readonly view: TurnView };
