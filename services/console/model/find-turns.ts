import type { TurnTexts } from '../../../shared/views/read-texts.ts';
import type { FoundTurn } from '../../../shared/views/stored-turns.ts';
import { cursorOf, indexOfCursor, type TurnRow } from '../../../shared/views/turn-row.ts';
import type { TurnTable } from '../../../shared/views/turn-table.ts';
import type { TurnView } from '../../../shared/views/turn-view.ts';
import type { ShownTexts } from './texts.ts';

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

export type TurnPage = {
  readonly turns: readonly FoundTurn[];
  /** null: there are no more */
  readonly next: string | null;
};

/** Rows that one request looks at, so that a search for rare words does not block other requests. */
const LOOKED_AT = 200_000;

/** Turns whose texts one request reads for its words, and how many at once. */
const READ = 1_024;
const AT_ONCE = 32;

type Page = {
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** for the search by words */
  readonly texts: ShownTexts;
};

/** One page of turns, newest first, before the cursor. A search for rare words gives a page with few turns and a cursor. */
export async function findTurns(
  table: TurnTable,
  filter: TurnFilter,
  { cursor, limit, texts }: Page,
): Promise<TurnPage> {
  const rows = table.inTime();
  const matches = matcher(filter);
  const words = wordsIn(filter);
  const turns: FoundTurn[] = [];
  let at = (cursor === undefined ? rows.length : indexOfCursor(rows, cursor)) - 1;
  const last = Math.max(0, at - LOOKED_AT);
  /** Adds rows that match, whatever their words are. */
  const addSome = (some: FoundTurn[], most: number): void => {
    for (; at >= last && some.length < most; at--) {
      const row = rows[at]!;
      // a trim may remove turns while their texts are read
      if (table.row(row.id) === undefined) continue;
      const view = table.view(row.id);
      if (matches(row, view)) some.push({ row, view });
    }
  };
  if (words.length === 0) addSome(turns, limit);
  for (let read = 0; words.length > 0 && at >= last && turns.length < limit && read < READ; read += AT_ONCE) {
    const some: FoundTurn[] = [];
    addSome(some, AT_ONCE);
    const said = await Promise.all(some.map(({ row }) => texts(row)));
    const found = some.filter((_, index) => hasWords(said[index]!, words));
    turns.push(...found.slice(0, limit - turns.length));
    if (turns.length === limit && found.at(-1) !== turns.at(-1))
      // the next page begins after the last turn of this one
      return { turns, next: cursorOf(turns.at(-1)!.row) };
  }
  return { turns, next: at < 0 ? null : cursorOf(rows[at + 1]!) };
}

const wordsIn = ({ words = '' }: TurnFilter): readonly string[] =>
  words.toLowerCase().split(/\s+/).filter(Boolean);

function hasWords({ asked, answered, reaction, hints }: TurnTexts, words: readonly string[]): boolean {
  const text = `${asked}\n${answered}\n${reaction}\n${hints.join(' ')}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export const outcomeOf = ({ stage }: TurnView): NonNullable<TurnFilter['outcome']> =>
  stage.kind === 'trained' || stage.kind === 'not-trained' ? stage.kind : 'open';

export const verdictOf = ({ score }: TurnView): TurnFilter['verdict'] =>
  score === undefined || score === null ? undefined : score > 0 ? 'good' : score < 0 ? 'bad' : 'neither';

function matcher(filter: TurnFilter): (row: TurnRow, view: TurnView) => boolean {
  const { outcome, reason, verdict, session, person, adapter, version } = filter;
  return (row, view) => {
    if (outcome !== undefined && outcomeOf(view) !== outcome) return false;
    if (reason !== undefined && reasonOf(view) !== reason) return false;
    if (verdict !== undefined && verdictOf(view) !== verdict) return false;
    if (session !== undefined && view.session !== session) return false;
    if (person !== undefined && row.key !== person) return false;
    if (adapter !== undefined && view.adapter !== adapter) return false;
    if (version !== undefined && view.version !== version) return false;
    return true;
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
