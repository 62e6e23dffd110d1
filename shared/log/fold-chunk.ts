import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import { EventRejected } from '../events/event-rejected.ts';
import { type ParsedRecord, parseEvent, topicOf } from '../events/parse-event.ts';
import type { Position } from '../events/position.ts';
import { logError } from './errors.ts';
import type { SubjectView } from './event-log.ts';
import type { DeferredEvent, Fold, Folded, InputEvent } from './fold.ts';
import { type MemoryRows, memoryRows } from './rows.ts';

/** A record as a log passes it to a fold. `time`: time of the append, ms since 1970. */
export type InputRecord = {
  readonly offset: number;
  readonly time: number;
  readonly subject: string;
  readonly body: string;
  /** Why the body cannot be read from disk; `body` is then empty. */
  readonly damage?: string;
};

/** The rows of one partition of one group. */
export type PartitionState = {
  readonly partition: number;
  readonly subjects: Map<string, MemoryRows>;
};

export type FoldedChunk = {
  /** Position of the input after the chunk. */
  readonly next: number;
  /** How many records were folded: fewer than given if time ran out or a record stops the partition. */
  readonly taken: number;
  /** The last value of each row that changed; undefined removes it. */
  readonly changes: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  /** In emission order. */
  readonly emit: readonly ClawLoopEvent[];
  readonly rejected: readonly EventRejected[];
  /** Why the partition stops: the record at `next` is newer than this code. Null: it does not stop. */
  readonly stopped: string | null;
};

type Options<Settings> = {
  readonly group: string;
  readonly fold: Fold<Settings>;
  readonly settings: Settings;
  /** ms of folding, after which the remaining records are left for the next chunk */
  readonly budgetMs: number;
  /** Reads the records that deferred events need, from the fold's input topic; undefined: unreadable. */
  readonly read: (positions: readonly Position[]) => Promise<readonly (ClawLoopEvent | undefined)[]>;
};

/** ms of folding after which the event loop gets a turn. */
const turnMs = 10;

/**
 * Folds records of one partition, in order, and updates the state: a caller that cannot commit the result must
 * discard the state. Every log uses this function. No transaction is open meanwhile; the result is one
 * transaction.
 */
export async function foldChunk<Settings>(
  state: PartitionState,
  records: readonly InputRecord[],
  options: Options<Settings>,
): Promise<FoldedChunk> {
  const { group, fold, budgetMs } = options;
  const changes = new Map<string, Map<string, unknown>>();
  const emit: (ClawLoopEvent | DeferredEvent)[] = [];
  const rejected: EventRejected[] = [];
  let taken = 0;
  let stopped: string | null = null;
  const started = performance.now();
  let turn = started;

  for (const record of records) {
    const at = { partition: state.partition, offset: record.offset };
    const parsed = parseRecord(record);
    if (parsed.kind === 'newer') {
      stopped = newerSchema(fold.reads, at, parsed);
      break;
    }
    taken += 1;
    if (parsed.kind === 'broken') rejected.push(rejection(options, at, record, parsed.error));
    if (parsed.kind !== 'event' || !isFor(group, parsed.event)) continue;

    const folded = foldEvent(state, options, { ...parsed.event, recorded: record.time }, at);
    if (folded.changes.length > 0) {
      const changed = changes.get(parsed.event.subject) ?? new Map<string, unknown>();
      for (const { key, row } of folded.changes) changed.set(key, row);
      changes.set(parsed.event.subject, changed);
    }
    emit.push(...folded.emit);

    const now = performance.now();
    if (now - started > budgetMs) break;
    if (now - turn > turnMs) {
      await nextTurn();
      turn = performance.now();
    }
  }
  const last = records[taken - 1];
  return {
    next: last === undefined ? records[0]!.offset : last.offset + 1,
    taken,
    changes,
    emit: await completeEvents(fold, emit, options.read),
    rejected,
    stopped,
  };
}

/** Whether a group folds an event: a redriven dead letter is only for the groups that rejected it. */
export const isFor = (group: string, { redrivenfor }: ClawLoopEvent): boolean =>
  redrivenfor === undefined || redrivenfor.split(',').includes(group);

const parseRecord = ({ body, damage }: InputRecord): ParsedRecord =>
  damage === undefined ? parseEvent(body) : { kind: 'broken', error: damage };

/** Folds one event and updates the state. */
export function foldEvent<Settings>(
  { subjects }: PartitionState,
  { fold, settings }: Pick<Options<Settings>, 'fold' | 'settings'>,
  event: InputEvent,
  at: Position,
): Folded {
  const rows = subjects.get(event.subject) ?? memoryRows();
  const folded = fold.on(rows, event, at, settings);
  rows.apply(folded.changes);
  if (folded.changes.length > 0) subjects.set(event.subject, rows);
  return folded;
}

export function newerSchema(
  topic: Topic,
  { partition, offset }: Position,
  { type, version, known }: { readonly type: string; readonly version: number; readonly known: number },
): string {
  const record = `${topic}/${partition}/${offset} is ${type} version ${version}`;
  return `${record}, and this version of ClawLoop knows ${known}: update it`;
}

export function openState(
  partition: number,
  rows: Iterable<readonly [subject: string, key: string, row: unknown]>,
): PartitionState {
  const initial = new Map<string, [string, unknown][]>();
  for (const [subject, key, row] of rows) {
    const of = initial.get(subject);
    if (of === undefined) initial.set(subject, [[key, row]]);
    else of.push([key, row]);
  }
  return { partition, subjects: new Map([...initial].map(([subject, of]) => [subject, memoryRows(of)])) };
}

/** All subjects with rows. */
export function viewsOf({ partition, subjects }: PartitionState): SubjectView[] {
  return [...subjects].map(([subject, rows]) => ({ subject, partition, rows }));
}

/** The subjects that a commit changed, each with the keys of its changed rows. */
export function changedViews(
  { partition, subjects }: PartitionState,
  changes: FoldedChunk['changes'],
): SubjectView[] {
  return [...changes].flatMap(([subject, changedRows]) => {
    const rows = subjects.get(subject);
    return rows === undefined ? [] : [{ subject, partition, rows, changed: [...changedRows.keys()] }];
  });
}

/** The event has the time of the record's append, so a rebuild makes the same event. */
function rejection<Settings>(
  { group, fold }: Pick<Options<Settings>, 'group' | 'fold'>,
  at: Position,
  record: InputRecord,
  error: string,
): EventRejected {
  const topic = fold.reads;
  return EventRejected.create({
    id: `${group}/${topic}/${at.partition}/${at.offset}/rejected`,
    source: `clawloop/${group}`,
    time: new Date(record.time).toISOString(),
    data: { topic, at, subject: record.subject, group, error, body: record.body },
  });
}

/**
 * Creates the deferred events, and checks that a fold writes only the topic it declares. An unreadable or
 * unexpected record does not stop the fold: the deferred event defines its replacement.
 */
export async function completeEvents<Settings>(
  fold: Fold<Settings>,
  emit: readonly (ClawLoopEvent | DeferredEvent)[],
  read: Options<Settings>['read'],
): Promise<readonly ClawLoopEvent[]> {
  const positions = emit.flatMap((event) => ('reads' in event ? [event.reads] : []));
  const records = positions.length === 0 ? [] : await read(positions);
  let used = 0;
  return emit.map((event) => {
    const complete = 'reads' in event ? completed(event, records[used++]) : event;
    if (topicOf(complete) !== fold.writes) {
      throw new Error(
        `fold ${fold.name} writes ${fold.writes}, but emitted ${complete.type} of ${topicOf(complete)}`,
      );
    }
    return complete;
  });
}

/**
 * Completes a deferred event from the record at its position; undefined: the record is unreadable. Without its words,
 * a record is as good as gone.
 */
export const completed = (event: DeferredEvent, record: ClawLoopEvent | undefined): ClawLoopEvent =>
  record?.id === event.id && record.erased === undefined ? event.create(record) : event.gone();

/**
 * Reads the event in a record's body, for a deferred event; undefined: the record is unreadable.
 * @throws NewerSchema: a newer version of ClawLoop can read it
 */
export function readableEvent(topic: Topic, at: Position, body: string | null): ClawLoopEvent | undefined {
  const parsed = body === null ? undefined : parseEvent(body);
  if (parsed?.kind === 'newer') throw logError('NewerSchema', newerSchema(topic, at, parsed));
  return parsed?.kind === 'event' ? parsed.event : undefined;
}

/** Reads the event in the body of the record at `at`. @throws NewerSchema, BrokenRecord */
export function eventAt(topic: Topic, at: Position, body: string): ClawLoopEvent {
  const parsed = parseEvent(body);
  if (parsed.kind === 'event') return parsed.event;
  if (parsed.kind === 'newer') throw logError('NewerSchema', newerSchema(topic, at, parsed));
  const why = parsed.kind === 'broken' ? parsed.error : `unknown type ${parsed.type}`;
  throw logError('BrokenRecord', `${topic}/${at.partition}/${at.offset} cannot be read: ${why}`);
}
