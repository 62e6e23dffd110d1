import { crc32 } from 'node:zlib';
import { describeStage } from '../describe-turn.ts';
import type { FoundTurn } from '../found-turn.ts';
import { withId, withoutId } from '../name-of-turn.ts';
import type { TurnRow } from '../turn-row.ts';
import { isUnheard, type TurnStage, type TurnView, type Underneath } from '../turn-view.ts';
import { columnText, damagedIndex, fromColumn } from './index-file.ts';

/** What is known of a turn, besides its row. */
export type TrackedTurn = {
  /** absent only while the first record of the turn is read */
  readonly view: TurnView;
  readonly underneath: Underneath;
  readonly sample: string;
  readonly trained: TurnStage;
  readonly seen: readonly string[];
};

/** Recording and tracking change both parts in place. */
export type IndexedTurn = {
  readonly row: TurnRow;
  readonly known: { -readonly [Name in keyof TrackedTurn]: TrackedTurn[Name] | undefined };
};

/** What the columns do not say, without what most turns have in common. */
type Stored = {
  readonly row: Partial<TurnRow>;
  readonly view: Partial<TurnView>;
} & Partial<Omit<TrackedTurn, 'view'>>;

export const turnColumns =
  'at, id, ms, session, adapter, key, version, live, outcome, verdict, heard, differs, data, sum';

/** The columns of table `turns`. */
export type TurnColumns = {
  readonly at: number;
  readonly id: string;
  readonly ms: number;
  readonly session: string;
  readonly adapter: string;
  /** id of the access key */
  readonly key: string;
  readonly version: number;
  readonly live: number;
  readonly outcome: string;
  /** sign of the score; null: there is none */
  readonly verdict: number | null;
  readonly heard: number | null;
  readonly differs: number;
  readonly data: string;
  readonly sum: number;
};

/** The outcome by which turns are counted; for a trained one without its version. */
const outcomeOf = (stage: TurnStage): string => (stage.kind === 'trained' ? TRAINED : describeStage(stage));
export const TRAINED = 'trained';

const usualRow: Partial<TurnRow> = {
  isSettledByReward: false,
  isDeleted: false,
};
const usualView: Partial<TurnView> = { rule: '', source: '', isPlain: false };

/** The members that differ from the usual, without empty lists. */
const unusual = <Members extends object>(members: Members, usual: Partial<Members>): Partial<Members> =>
  Object.fromEntries(
    Object.entries(members).filter(
      ([name, value]) =>
        value !== usual[name as keyof Members] && !(Array.isArray(value) && value.length === 0),
    ),
  ) as Partial<Members>;

export function columnsOf({ row, known }: IndexedTurn): TurnColumns {
  const { id, ms, at, key, ...rest } = row;
  const { view, underneath, sample, trained, seen } = known;
  if (view === undefined) throw new Error(`turn ${id} has no view`);
  const { turnId: _id, asked: _asked, answered: _answered, reaction: _reaction, ...shown } = view;
  const { session, adapter, version, live, time, stage, ...others } = shown;
  const stored: Stored = {
    row: unusual(rest, usualRow),
    view: { ...unusual(others, usualView), stage, ...(time === timeOf(ms) ? {} : { time }) },
    ...(underneath && { underneath }),
    ...(sample && { sample: withoutId(sample, id) }),
    // a turn whose stage is `trained` has trained in that stage
    ...(trained && stage.kind !== 'trained' && { trained }),
    ...(seen && { seen }),
  };
  const columns = {
    at,
    id: columnText(id),
    ms,
    session: columnText(session),
    adapter: columnText(adapter),
    key: columnText(key),
    version,
    live: Number(live),
    outcome: columnText(outcomeOf(stage)),
    verdict: view.score == null ? null : Math.sign(view.score),
    heard: view.score === undefined ? null : Number(isUnheard(view, row.reactionAt !== undefined)),
    differs: Number(view.disagreement !== undefined),
    data: JSON.stringify(stored),
  };
  return { ...columns, sum: sumOf(columns) };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();

function sumOf({ data, ...columns }: Omit<TurnColumns, 'sum'>): number {
  const { at, id, ms, session, adapter, key, version, live, outcome, verdict, heard, differs } = columns;
  const others = [at, id, ms, session, adapter, key, version, live, outcome, verdict, heard, differs];
  return crc32(data, crc32(JSON.stringify(others)));
}

/** @throws when the row is damaged */
export function turnOf(found: Readonly<Record<string, unknown>>): IndexedTurn & FoundTurn {
  const columns = found as TurnColumns;
  if (columns.sum !== sumOf(columns)) throw damagedIndex('a turn has a wrong checksum');
  const { at, ms, version, data } = columns;
  const [id, session] = [fromColumn(columns.id), fromColumn(columns.session)];
  const [adapter, key] = [fromColumn(columns.adapter), fromColumn(columns.key)];
  // the checksum says that this version of the program wrote it
  const { row, view, underneath, sample, trained, seen } = JSON.parse(data) as Stored;
  const stage = view.stage!;
  const shown = {
    turnId: id,
    time: timeOf(ms),
    session,
    adapter,
    version,
    live: columns.live === 1,
    asked: '',
    answered: '',
    reaction: '',
    votes: [],
    disagreement: undefined,
    score: undefined,
    ...usualView,
    ...view,
  } as TurnView;
  return {
    row: { ...emptyRow(), ...usualRow, ...row, id, ms, at, key } as TurnRow,
    view: shown,
    known: {
      view: shown,
      underneath,
      sample: sample && withId(sample, id),
      trained: stage.kind === 'trained' ? stage : trained,
      seen,
    },
  };
}

/** Its lists grow in place. */
const emptyRow = () => ({
  user: undefined,
  next: undefined,
  reactionAt: undefined,
  hintsAt: undefined,
  inferredAt: undefined,
  places: [],
  batches: [],
  wishes: [],
});
