import type { SQLInputValue } from 'node:sqlite';
import type { FoundTurn } from '../../../shared/views/found-turn.ts';
import type { TurnTexts } from '../../../shared/views/read-texts.ts';
import { columnText, damagedIndex } from '../../../shared/views/turn-index/index-file.ts';
import { TRAINED, turnColumns, turnOf } from '../../../shared/views/turn-index/stored-turn.ts';
import { cursorOf, inOrder, placeOfCursor } from '../../../shared/views/turn-row.ts';
import type { TurnView } from '../../../shared/views/turn-view.ts';
import type { ShownTexts } from './texts.ts';
import type { TurnRows } from './turns/turn-rows.ts';

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
/** Rows that it looks at before other requests have their turn: some milliseconds. */
const STRETCH = 20_000;

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
  rows: TurnRows,
  filter: TurnFilter,
  { cursor, limit, texts }: Page,
): Promise<TurnPage> {
  const search = openSearch(rows, filter, cursor);
  const words = wordsIn(filter);
  if (words.length === 0) {
    const turns = await search.next(limit);
    return { turns, next: search.cursor() };
  }
  const turns: FoundTurn[] = [];
  for (let read = 0; !search.isOver() && turns.length < limit && read < READ; read += AT_ONCE) {
    const some = await search.next(AT_ONCE);
    const said = await Promise.all(some.map(({ row }) => texts(row)));
    const found = some.filter((_, index) => hasWords(said[index]!, words));
    turns.push(...found.slice(0, limit - turns.length));
    if (turns.length === limit && found.at(-1) !== turns.at(-1))
      // the next page begins after the last turn of this one
      return { turns, next: cursorOf(turns.at(-1)!.row) };
  }
  return { turns, next: search.cursor() };
}

type Place = { readonly ms: number; readonly id: string };

/** Goes from turn to turn, newest first, past those that the filter leaves out. */
function openSearch(rows: TurnRows, filter: TurnFilter, cursor: string | undefined) {
  const { base, baseValues, conditions, values } = conditionsOf(filter);
  let before: Place | undefined = cursor === undefined ? undefined : placeOfCursor(cursor);
  let [looked, isAtEnd] = [0, false];
  const matches = matcher(filter);
  const isBefore = () => (before === undefined ? '1' : '(ms < ? OR (ms = ? AND id < ?))');
  const beforeValues = () => (before === undefined ? [] : [before.ms, before.ms, columnText(before.id)]);
  /** No id is before ''. */
  const latest = () =>
    before === undefined ? Number.MAX_SAFE_INTEGER : before.ms - Number(before.id === '');

  /** The time that the oldest turn of the next stretch has; undefined: the stretch reaches the first turn. */
  const endOfStretch = (): number | undefined =>
    rows.read((ask) => {
      const [last] = ask(
        `SELECT ms FROM turns WHERE ${base} AND ms <= ? ORDER BY ms DESC LIMIT 1 OFFSET ?`,
        ...baseValues,
        latest(),
        STRETCH,
      );
      return last && Number(last.ms);
    });
  const select = (from: number | undefined, most: number): readonly FoundTurn[] =>
    rows.read((ask) => {
      const found = ask(
        `SELECT ${turnColumns} FROM turns
         WHERE ${base} AND ${conditions} AND ${isBefore()} AND ms >= ? AND ms <= ?
         ORDER BY ms DESC, id DESC LIMIT ?`,
        ...baseValues,
        ...values,
        ...beforeValues(),
        from ?? Number.MIN_SAFE_INTEGER,
        latest(),
        most,
      ).map(turnOf);
      const isWanted = (turn: FoundTurn, n: number): boolean =>
        matches(turn) && (n === 0 || inOrder(turn.row, found[n - 1]!.row) < 0);
      if (!found.every(isWanted)) throw damagedIndex('an index gives other turns');
      return found;
    });
  const isOver = (): boolean => isAtEnd || looked >= LOOKED_AT;
  const next = async (most: number): Promise<readonly FoundTurn[]> => {
    const found: FoundTurn[] = [];
    while (found.length < most && !isOver()) {
      if (looked > 0) await new Promise(setImmediate);
      // without further conditions, the next turns are those that are wanted
      const end = conditions === '1' ? undefined : endOfStretch();
      const some = select(end, most - found.length);
      found.push(...some);
      if (found.length === most) before = { ms: some.at(-1)!.row.ms, id: some.at(-1)!.row.id };
      else if (end === undefined) isAtEnd = true;
      else before = { ms: end, id: '' };
      looked += found.length === most ? some.length : STRETCH;
    }
    return found;
  };
  /** Null: there are no more. */
  const nextCursor = (): string | null =>
    isAtEnd || before === undefined || !hasMore() ? null : cursorOf(before);
  const hasMore = (): boolean =>
    rows.read(
      (ask) =>
        ask(
          `SELECT 1 FROM turns WHERE ${isBefore()} AND ms <= ? ORDER BY ms DESC LIMIT 1`,
          ...beforeValues(),
          latest(),
        ).length > 0,
    );
  return { next, isOver, cursor: nextCursor };
}

/** `base`: has an index of its own. */
function conditionsOf({ outcome, reason, verdict, session, person, adapter, version }: TurnFilter) {
  const [base, baseValue] =
    session !== undefined
      ? ['session = ?', columnText(session)]
      : version !== undefined
        ? ['version = ?', version]
        : ['1', undefined];
  const all: readonly (readonly [condition: string, value?: SQLInputValue])[] = [
    ...(outcome === undefined ? [] : [[outcomes[outcome]] as const]),
    ...(reason === undefined ? [] : [['outcome = ?', columnText(NOT_TRAINED + reason)] as const]),
    ...(verdict === undefined ? [] : [['verdict = ?', signs[verdict]] as const]),
    ...(person === undefined ? [] : [['key = ?', columnText(person)] as const]),
    ...(adapter === undefined ? [] : [['adapter = ?', columnText(adapter)] as const]),
    ...(session === undefined || version === undefined ? [] : [['version = ?', version] as const]),
  ];
  return {
    base,
    baseValues: baseValue === undefined ? [] : [baseValue],
    conditions: all.length === 0 ? '1' : all.map(([condition]) => `(${condition})`).join(' AND '),
    values: all.flatMap(([, value]) => (value === undefined ? [] : [value])),
  };
}

/** As `describeStage` begins. */
const NOT_TRAINED = 'not trained: ';
// a column holds some texts as JSON
const isNotTrained = `outcome >= 'not trained: ' AND outcome < 'not trained:!' OR substr(outcome, 1, 14) = '"not trained: '`;
const outcomes = {
  trained: `outcome = '${TRAINED}'`,
  'not-trained': isNotTrained,
  open: `outcome <> '${TRAINED}' AND NOT (${isNotTrained})`,
};
const signs = { good: 1, bad: -1, neither: 0 };

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

export function matcher(filter: TurnFilter): (turn: FoundTurn) => boolean {
  const { outcome, reason, verdict, session, person, adapter, version } = filter;
  return ({ row, view }) => {
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

/** The reason in an outcome as turns are counted by. */
export const reasonIn = (outcome: string): string | undefined =>
  outcome.startsWith(NOT_TRAINED) ? outcome.slice(NOT_TRAINED.length) : undefined;
