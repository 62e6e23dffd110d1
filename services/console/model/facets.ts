import { columnText, fromColumn } from '../../../shared/views/turn-index/index-file.ts';
import { TRAINED } from '../../../shared/views/turn-index/stored-turn.ts';
import { reasonIn } from './find-turns.ts';
import { wrongSums } from './turns/count-table.ts';
import { facetCounts } from './turns/turn-counts.ts';
import { checked, type TurnRows } from './turns/turn-rows.ts';

/** Values to filter by, with the number of turns of each. */
export type Facets = {
  readonly total: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly reasons: Readonly<Record<string, number>>;
  readonly verdicts: Readonly<Record<string, number>>;
  readonly people: Readonly<Record<string, number>>;
  readonly versions: Readonly<Record<string, number>>;
};

export function countFacets(rows: TurnRows, adapter: string | undefined): Facets {
  const facets = { total: 0, outcomes: {}, reasons: {}, verdicts: {}, people: {}, versions: {} };
  const count = (counts: Record<string, number>, value: string | undefined, turns: number) => {
    if (value !== undefined) counts[value] = (counts[value] ?? 0) + turns;
  };
  for (const { kind, value, turns } of countedFacets(rows, adapter)) {
    if (kind === 'all') facets.total += turns;
    if (kind === 'person') count(facets.people, value, turns);
    if (kind === 'version') count(facets.versions, value, turns);
    if (kind === 'verdict') count(facets.verdicts, value, turns);
    if (kind !== 'outcome') continue;
    const reason = reasonIn(value);
    count(facets.outcomes, value === TRAINED ? value : reason === undefined ? 'open' : 'not-trained', turns);
    count(facets.reasons, reason, turns);
  }
  return facets;
}

type CountedFacet = { readonly kind: string; readonly value: string; readonly turns: number };

const countedFacets = (rows: TurnRows, adapter: string | undefined): readonly CountedFacet[] =>
  rows.read((ask) =>
    checked(
      ask(
        `SELECT kind, value, sum(turns) AS turns, ${wrongSums(facetCounts)} AS wrong FROM ${facetCounts.name}
         ${adapter === undefined ? '' : 'WHERE adapter = ?'} GROUP BY kind, value`,
        ...(adapter === undefined ? [] : [columnText(adapter)]),
      ),
    ).map(({ kind, value, turns }) => ({
      kind: String(kind),
      value: fromColumn(value),
      turns: Number(turns),
    })),
  );

/** What the live turns have reached. `waiting`: samples that wait for a batch, by adapter. */
export type Reached = {
  readonly chatted: boolean;
  readonly reacted: boolean;
  readonly judged: boolean;
  readonly waiting: ReadonlyMap<string, number>;
};

export const whatWasReached = (rows: TurnRows): Reached =>
  rows.read((ask) => {
    const found = checked(
      ask(
        `SELECT kind, adapter, turns, sum <> 3 * turns AS wrong FROM ${facetCounts.name}
         WHERE kind IN ('live', 'reacted', 'judged', 'waiting')`,
      ),
    );
    const has = (wanted: string): boolean => found.some(({ kind }) => kind === wanted);
    const waiting = found.filter(({ kind }) => kind === 'waiting');
    return {
      chatted: has('live'),
      reacted: has('reacted'),
      judged: has('judged'),
      waiting: new Map(waiting.map(({ adapter, turns }) => [fromColumn(adapter), Number(turns)])),
    };
  });
