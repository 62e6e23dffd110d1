import type { TurnRow } from './turn-row.ts';
import type { TurnView } from './turn-view.ts';

export type FoundTurn = { readonly row: TurnRow; readonly view: TurnView };
