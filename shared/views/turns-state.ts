import { z } from 'zod';
import { disagreement } from '../events/disagreement.ts';
import { JudgmentReached } from '../events/judgment-reached.ts';
import { defined } from '../lang/defined.ts';
import { headState } from '../lineage/head-state.ts';
import { wishKinds } from '../wishes/wishes.ts';
import { column, columnOf, eachList, integers, listsOf, numberLists, valueAt } from './column.ts';
import { withId, withoutId } from './name-of-turn.ts';
import { sessionState } from './session-table.ts';
import type { BatchRow, TurnRow } from './turn-row.ts';
import type { KeptTurn, TurnView, TurnViewsState } from './turn-view.ts';

const stage = z.discriminatedUnion('kind', [
  z.object({
    kind: z.enum([
      'waiting-for-next-state',
      'waiting-for-end-of-session',
      'waiting-for-verdict',
      'waiting-for-session',
      'waiting-for-batch',
    ]),
  }),
  z.object({ kind: z.literal('in-batch'), batchId: z.string() }),
  z.object({ kind: z.literal('trained'), batchId: z.string(), version: z.int() }),
  z.object({ kind: z.literal('not-trained'), reason: z.string() }),
]);
const process = JudgmentReached.schema.shape.process.unwrap();
const texts = z.array(z.string());
const manyTexts = z.custom<string[]>(
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
);
const text = column(z.string());
const number = column(z.number());

/** The turn table as it is stored. It holds no words of people; sessions and people have the names that clients gave them. */
export const turnsState = z.object({
  ids: manyTexts,
  times: manyTexts,
  /** packed; -1: undefined */
  places: z.object({
    answer: integers,
    reaction: integers,
    hints: integers,
    inferred: integers,
    all: numberLists,
  }),
  lane: text,
  session: text,
  adapter: text,
  version: number,
  rule: text,
  disagreement: column(disagreement),
  score: column(z.number().nullable()),
  source: text,
  implied: text,
  standing: column(texts),
  own: column(z.number().nullable()),
  advantage: number,
  process: column(process),
  votes: column(texts),
  stage: column(stage),
  underneath: column(z.object({ stage: stage.optional(), rule: z.string().optional() })),
  /** by `withoutId` */
  sample: text,
  seen: column(texts),
  trained: column(stage),
  /** live, isPlain, isSettledByReward, isDeleted */
  flags: column(z.string()),
  key: text,
  user: text,
  next: text,
  wishes: column(z.array(z.enum(wishKinds))),
  batchesOf: column(texts),
  batches: z.array(
    z.object({
      id: z.string(),
      adapter: z.string(),
      n: z.int(),
      parent: z.int(),
      turns: texts,
      places: z.array(z.int()),
    }),
  ),
  openBatches: z.array(z.tuple([z.string(), texts])),
  heads: z.record(z.string(), headState),
  /** packed places and types of records that came before their answer */
  early: z.array(z.tuple([z.string(), z.array(z.tuple([z.int(), z.string()]))])),
  sessions: z.array(z.tuple([z.string(), sessionState])),
});
export type TurnsState = z.output<typeof turnsState>;

type Encoded = {
  readonly rows: readonly TurnRow[];
  readonly kept: (id: string) => KeptTurn;
  readonly openBatches: TurnViewsState['batches'];
  readonly heads: TurnViewsState['heads'];
  readonly batches: readonly BatchRow[];
  readonly early: readonly (readonly [string, readonly (readonly [number, string])[]])[];
  readonly sessions: TurnsState['sessions'];
};

/** Packed places are not negative. */
const NOWHERE = -1;

export function encodeTurns({
  rows,
  kept,
  openBatches,
  heads,
  batches,
  early,
  sessions,
}: Encoded): TurnsState {
  const ofRow = <Value>(pick: (row: TurnRow) => Value | undefined) => columnOf(rows, pick);
  const turns = rows.map(({ id }) => kept(id));
  const of = <Value>(pick: (turn: KeptTurn) => Value | undefined) => columnOf(turns, pick);
  const ofView = <Value>(pick: (view: TurnView) => Value | undefined) => of(({ view }) => pick(view));
  const list = (items: readonly string[] | undefined) => (items === undefined ? undefined : [...items]);
  return {
    ids: rows.map(({ id }) => id),
    times: turns.map(({ view }) => view.time),
    places: {
      answer: rows.map(({ at }) => at),
      reaction: rows.map(({ reactionAt }) => reactionAt ?? NOWHERE),
      hints: rows.map(({ hintsAt }) => hintsAt ?? NOWHERE),
      inferred: rows.map(({ inferredAt }) => inferredAt ?? NOWHERE),
      all: listsOf(rows.map(({ places }) => places)),
    },
    lane: ofView(({ lane }) => lane),
    session: ofView(({ session }) => session),
    adapter: ofView(({ adapter }) => adapter),
    version: ofView(({ version }) => version),
    rule: ofView(({ rule }) => rule),
    disagreement: ofView((view) => view.disagreement),
    score: ofView(({ score }) => score),
    source: ofView(({ source }) => source),
    implied: ofView(({ implied }) => implied),
    standing: ofView(({ standing }) => list(standing)),
    own: ofView(({ own }) => own),
    advantage: ofView(({ advantage }) => advantage),
    process: ofView((view) => view.process),
    votes: ofView(({ votes }) => list(votes)),
    stage: ofView((view) => view.stage),
    underneath: of(({ underneath }) => underneath),
    sample: of(({ view, sample }) => sample && withoutId(sample, view.turnId)),
    seen: of(({ seen }) => list(seen)),
    trained: of(({ trained }) => trained),
    flags: columnOf(rows, (row) => flagsOf(row, kept(row.id).view)),
    key: ofRow(({ key }) => key),
    user: ofRow(({ user }) => user),
    next: ofRow(({ next }) => next),
    wishes: ofRow(({ wishes }) => [...wishes]),
    batchesOf: ofRow((row) => (row.batches.length === 0 ? undefined : row.batches)),
    batches: batches.map((batch) => ({ ...batch, turns: [...batch.turns] })),
    openBatches: openBatches.map(([id, samples]) => [id, [...samples]]),
    heads: Object.fromEntries(
      Object.entries(heads).map(([name, head]) => [name, { ...head, canary: head.canary ?? null }]),
    ),
    early: early.map(([id, records]) => [id, records.map(([at, type]) => [at, type])]),
    sessions,
  };
}

const flagsOf = (row: TurnRow, view: TurnView): string =>
  [view.live, view.isPlain, row.isSettledByReward, row.isDeleted].map(Number).join('');

type Decoded = {
  readonly rows: readonly TurnRow[];
  readonly batches: readonly BatchRow[];
  readonly views: TurnViewsState;
};

export function decodeTurns(state: TurnsState): Decoded {
  const lists = eachList(state.places.all);
  const rows = state.ids.map((_, index) => rowAt(state, index, lists.next().value!));
  return {
    rows,
    batches: state.batches,
    views: {
      turns: eachKept(state),
      batches: state.openBatches,
      heads: state.heads,
    },
  };
}

function* eachKept(state: TurnsState): Generator<KeptTurn> {
  for (const index of state.ids.keys()) yield keptAt(state, index);
}

const flag = (state: TurnsState, index: number, which: number): boolean =>
  valueAt(state.flags, index)![which] === '1';

const placeAt = (places: readonly number[], index: number): number | undefined =>
  places[index] === NOWHERE ? undefined : places[index];

function rowAt(state: TurnsState, index: number, places: number[]): TurnRow {
  const { answer, reaction, hints, inferred } = state.places;
  return {
    id: state.ids[index]!,
    ms: Date.parse(state.times[index]!),
    at: answer[index]!,
    key: valueAt(state.key, index)!,
    user: valueAt(state.user, index),
    isSettledByReward: flag(state, index, 2),
    places,
    batches: [...(valueAt(state.batchesOf, index) ?? [])],
    next: valueAt(state.next, index),
    reactionAt: placeAt(reaction, index),
    hintsAt: placeAt(hints, index),
    inferredAt: placeAt(inferred, index),
    wishes: valueAt(state.wishes, index)!,
    isDeleted: flag(state, index, 3),
  };
}

function keptAt(state: TurnsState, index: number): KeptTurn {
  const id = state.ids[index]!;
  const sample = valueAt(state.sample, index);
  const optional = {
    implied: valueAt(state.implied, index),
    standing: valueAt(state.standing, index),
    own: valueAt(state.own, index),
    advantage: valueAt(state.advantage, index),
    process: valueAt(state.process, index),
  };
  const view: TurnView = {
    turnId: id,
    time: state.times[index]!,
    lane: valueAt(state.lane, index)!,
    session: valueAt(state.session, index)!,
    adapter: valueAt(state.adapter, index)!,
    version: valueAt(state.version, index)!,
    live: flag(state, index, 0),
    asked: '',
    answered: '',
    rule: valueAt(state.rule, index)!,
    disagreement: valueAt(state.disagreement, index),
    score: valueAt(state.score, index),
    source: valueAt(state.source, index)!,
    reaction: '',
    isPlain: flag(state, index, 1),
    votes: valueAt(state.votes, index)!,
    stage: valueAt(state.stage, index)!,
    ...defined(optional),
  };
  return {
    view,
    underneath: valueAt(state.underneath, index),
    sample: sample === undefined ? undefined : withId(sample, id),
    seen: valueAt(state.seen, index),
    trained: valueAt(state.trained, index),
  };
}
