import type { TurnView } from '../../../shared/views/turn-view.ts';
import { cursorOf, indexOfCursor, type TurnRow, type TurnTable } from './turn-table.ts';

export type TurnFilter = {
  readonly outcome?: 'trained' | 'not-trained' | 'open' | undefined;
  /** why it did not train */
  readonly reason?: string | undefined;
  readonly verdict?: 'good' | 'bad' | 'neither' | undefined;
  readonly session?: string | undefined;
  /** id of the access key */
  readonly person?: string | undefined;
  readonly adapter?: string | undefined;
  /** that answered */
  readonly version?: number | undefined;
  /** each must occur in request, answer, reaction or hint */
  readonly words?: string | undefined;
};

export type FoundTurn = { readonly row: TurnRow; readonly view: TurnView };
export type TurnPage = {
  readonly turns: readonly FoundTurn[];
  /** null: there are no more */
  readonly next: string | null;
};

/** Rows that one request looks at, so that a search for rare words does not block other requests. */
const LOOKED_AT = 200_000;

/** One page of turns, newest first, before the cursor. */
export function findTurns(
  table: TurnTable,
  filter: TurnFilter,
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
): TurnPage {
  const rows = table.inTime();
  const matches = matcher(filter);
  const turns: FoundTurn[] = [];
  let at = (cursor === undefined ? rows.length : indexOfCursor(rows, cursor)) - 1;
  const last = Math.max(0, at - LOOKED_AT);
  for (; at >= last && turns.length < limit; at--) {
    const row = rows[at]!;
    const view = table.view(row.id);
    if (matches(row, view)) turns.push({ row, view });
  }
  return { turns, next: at < 0 ? null : cursorOf(rows[at + 1]!) };
}

export const outcomeOf = ({ stage }: TurnView): NonNullable<TurnFilter['outcome']> =>
  stage.kind === 'trained' || stage.kind === 'not-trained' ? stage.kind : 'open';

export const verdictOf = ({ score }: TurnView): TurnFilter['verdict'] =>
  score === undefined || score === null ? undefined : score > 0 ? 'good' : score < 0 ? 'bad' : 'neither';

function matcher(filter: TurnFilter): (row: TurnRow, view: TurnView) => boolean {
  const { outcome, reason, verdict, session, person, adapter, version } = filter;
  const words = (filter.words ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return (row, view) => {
    if (outcome !== undefined && outcomeOf(view) !== outcome) return false;
    if (reason !== undefined && reasonOf(view) !== reason) return false;
    if (verdict !== undefined && verdictOf(view) !== verdict) return false;
    if (session !== undefined && view.session !== session) return false;
    if (person !== undefined && row.key !== person) return false;
    if (adapter !== undefined && view.adapter !== adapter) return false;
    if (version !== undefined && view.version !== version) return false;
    if (words.length === 0) return true;
    const text = `${view.asked}\n${view.answered}\n${view.reaction}\n${row.hints.join(' ')}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

export const reasonOf = ({ stage }: TurnView): string | undefined =>
  stage.kind === 'not-trained' ? stage.reason : undefined;

/** Values to filter by, with the number of turns of each. */
export type Facets = {
  readonly total: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly reasons: Readonly<Record<string, number>>;
  readonly verdicts: Readonly<Record<string, number>>;
  readonly people: Readonly<Record<string, number>>;
  readonly versions: Readonly<Record<string, number>>;
};

export function countFacets(table: TurnTable, adapter: string | undefined): Facets {
  const facets = { total: 0, outcomes: {}, reasons: {}, verdicts: {}, people: {}, versions: {} };
  const count = (counts: Record<string, number>, value: string | number | undefined) => {
    if (value !== undefined) counts[value] = (counts[value] ?? 0) + 1;
  };
  for (const row of table.inTime()) {
    const view = table.view(row.id);
    if (adapter !== undefined && view.adapter !== adapter) continue;
    facets.total += 1;
    count(facets.outcomes, outcomeOf(view));
    count(facets.reasons, reasonOf(view));
    count(facets.verdicts, verdictOf(view));
    count(facets.people, row.key);
    count(facets.versions, view.version);
  }
  return facets;
}
