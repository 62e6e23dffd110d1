import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { topicOf } from '../../../shared/events/parse-event.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { Folded } from '../../../shared/log/fold.ts';
import type { RowChange, Rows } from '../../../shared/log/rows.ts';
import { firstRules, type HistoryFold, type Rules, type TopicName, topicNames } from './folds.ts';
import { hashOf } from './random.ts';

export const PARTITIONS = 3;
export const partitionOf = (subject: string) => hashOf(subject) % PARTITIONS;

/** Rows of one subject, never mutated: a stale owner keeps what it had. */
export type RowMap = ReadonlyMap<string, unknown>;
export type States = ReadonlyMap<string, RowMap>;

/** A fold over one partition, as it is committed. */
export type Group = {
  readonly fold: HistoryFold;
  readonly partition: number;
  term: number;
  position: number;
  states: States;
  /** from which position on which rules were in force */
  readonly rules: (readonly [from: number, rules: Rules])[];
};

export type Records = Readonly<Record<TopicName, readonly ClawLoopEvent[][]>>;

export const emptyRecords = (): Records => {
  const partitions = () => Array.from({ length: PARTITIONS }, (): ClawLoopEvent[] => []);
  return { conversations: partitions(), turns: partitions(), training: partitions() };
};

export const openGroups = (folds: readonly HistoryFold[]): readonly Group[] =>
  folds.flatMap((fold) =>
    Array.from({ length: PARTITIONS }, (_, partition) => ({
      fold,
      partition,
      term: 0,
      position: 0,
      states: new Map(),
      rules: [[0, firstRules] as const],
    })),
  );

export const write = (records: Records, event: ClawLoopEvent): void =>
  void records[topicOf(event) as TopicName][partitionOf(event.subject)]!.push(event);

export const allEvents = (records: Records): readonly ClawLoopEvent[] =>
  topicNames.flatMap((topic) => records[topic].flat());

export const rowsOf = (map: RowMap): Rows => ({
  get: (key) => map.get(key),
  entries: (prefix) =>
    [...map].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1)),
});

/** What is committed is JSON: a row that does not survive it is noticed. */
export function applyChanges(map: RowMap, changes: readonly RowChange[]): RowMap {
  if (changes.length === 0) return map;
  const after = new Map(map);
  for (const { key, row } of changes) {
    if (row === undefined) after.delete(key);
    else after.set(key, JSON.parse(JSON.stringify(row)));
  }
  return after;
}

const noRows: RowMap = new Map();

/** One event through a fold: the state after it and the facts, whole. Nothing is committed yet. */
export function foldOne(
  { fold, partition }: Group,
  records: Records,
  states: States,
  position: number,
  rules: Rules,
): { readonly states: States; readonly facts: readonly ClawLoopEvent[] } {
  const event = records[fold.reads][partition]![position]!;
  const before = states.get(event.subject) ?? noRows;
  const at: Position = { partition, offset: position };
  const { changes, emit } = fold.on(rowsOf(before), event, at, rules);
  const after = applyChanges(before, changes);
  const facts = wholeFacts(emit, records[fold.reads]);
  return { states: after === before ? states : new Map(states).set(event.subject, after), facts };
}

const wholeFacts = (emit: Folded['emit'], input: readonly ClawLoopEvent[][]): readonly ClawLoopEvent[] =>
  emit.map((fact) =>
    'reads' in fact ? fact.create(input[fact.reads.partition]![fact.reads.offset]!) : fact,
  );

/** Refolds a group's committed input from zero, each stretch under the rules that stood in its commits. */
export function rebuild(group: Group, records: Records, rulesAt?: () => Rules) {
  let states: States = new Map();
  const facts: ClawLoopEvent[] = [];
  for (let position = 0; position < group.position; position++) {
    const rules = rulesAt?.() ?? group.rules.findLast(([from]) => from <= position)![1];
    const folded = foldOne(group, records, states, position, rules);
    states = folded.states;
    facts.push(...folded.facts);
  }
  return { states, facts };
}
