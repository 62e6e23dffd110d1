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

/** One record as a log hands it to a fold. `time`: ms since 1970, when it was appended. */
export type InputRecord = {
  readonly offset: number;
  readonly time: number;
  readonly subject: string;
  readonly body: string;
  /** Why its body cannot be read from the disk; then `body` is empty. */
  readonly damage?: string;
};

/** The rows of one partition of one group. */
export type PartitionState = {
  readonly partition: number;
  readonly subjects: Map<string, MemoryRows>;
};

export type FoldedChunk = {
  /** Position of the input after it. */
  readonly next: number;
  /** How many records were taken: fewer than given, where time ran out or one stops the partition. */
  readonly taken: number;
  /** The last value of each row that changed; undefined removes it. */
  readonly changes: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  /** In the order in which they were emitted. */
  readonly emit: readonly ClawLoopEvent[];
  readonly rejected: readonly EventRejected[];
  /** The record at `next` is newer than this code: why. */
  readonly stopped: string | null;
};

type Options<Settings> = {
  readonly group: string;
  readonly fold: Fold<Settings>;
  readonly settings: Settings;
  /** ms of folding after which the rest is left for the next chunk */
  readonly budgetMs: number;
  /** Reads records of the fold's own topic, which its deferred events need; undefined: it cannot be read. */
  readonly read: (positions: readonly Position[]) => Promise<readonly (ClawLoopEvent | undefined)[]>;
};

/** ms after which the thread serves others before the next record. */
const turnMs = 10;

/**
 * Folds records of one partition, in order, and leaves the state as it is after them: who cannot commit the
 * result throws the state away. The same for every log: no transaction is open meanwhile, and what it returns
 * is one.
 */
export async function foldChunk<Settings>(
  state: PartitionState,
  records: readonly InputRecord[],
  options: Options<Settings>,
): Promise<FoldedChunk> {
  const { group, fold, settings, budgetMs } = options;
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
    if (parsed.kind === 'broken') rejected.push(rejection(group, fold.reads, at, record, parsed.error));
    if (parsed.kind !== 'event' || !isFor(group, parsed.event)) continue;

    const folded = foldEvent(state, fold, { ...parsed.event, recorded: record.time }, at, settings);
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

/** Whether a group folds an event: a dead letter that was put back is for those that had rejected it. */
export const isFor = (group: string, { redrivenfor }: ClawLoopEvent): boolean =>
  redrivenfor === undefined || redrivenfor.split(',').includes(group);

const parseRecord = ({ body, damage }: InputRecord): ParsedRecord =>
  damage === undefined ? parseEvent(body) : { kind: 'broken', error: damage };

/** Folds one event and leaves the state as it is after it. */
export function foldEvent<Settings>(
  { subjects }: PartitionState,
  fold: Fold<Settings>,
  event: InputEvent,
  at: Position,
  settings: Settings,
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

/** Every subject that has rows. */
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

/** Its time is when the record was appended: a rebuild makes the same event. */
function rejection(
  group: string,
  topic: Topic,
  at: Position,
  record: InputRecord,
  error: string,
): EventRejected {
  return EventRejected.create({
    id: `${group}/${topic}/${at.partition}/${at.offset}/rejected`,
    source: `clawloop/${group}`,
    time: new Date(record.time).toISOString(),
    data: { topic, at, subject: record.subject, group, error, body: record.body },
  });
}

/**
 * Makes the deferred events, and sees to it that a fold writes the topic that it names. A record that cannot be
 * read, or that is not the expected one, does not stop the fold: the deferred event says what it becomes.
 */
export async function completeEvents<Settings>(
  fold: Fold<Settings>,
  emit: readonly (ClawLoopEvent | DeferredEvent)[],
  read: Options<Settings>['read'],
): Promise<readonly ClawLoopEvent[]> {
  const positions = emit.flatMap((event) => ('reads' in event ? [event.reads] : []));
  const found = positions.length === 0 ? [] : await read(positions);
  let used = 0;
  return emit.map((event) => {
    const whole = 'reads' in event ? completed(event, found[used++]) : event;
    if (topicOf(whole) !== fold.writes) {
      throw new Error(
        `fold ${fold.name} writes ${fold.writes}, but emitted ${whole.type} of ${topicOf(whole)}`,
      );
    }
    return whole;
  });
}

/** What a deferred event becomes, given what stands at its position; undefined: nothing that can be read. */
export const completed = (event: DeferredEvent, record: ClawLoopEvent | undefined): ClawLoopEvent =>
  record?.id === event.id ? event.create(record) : event.gone();

/**
 * The event in a record's body, for a deferred event; undefined: there is none that can be read.
 * @throws NewerSchema: an update reads it
 */
export function readableEvent(topic: Topic, at: Position, body: string | null): ClawLoopEvent | undefined {
  const parsed = body === null ? undefined : parseEvent(body);
  if (parsed?.kind === 'newer') throw logError('NewerSchema', newerSchema(topic, at, parsed));
  return parsed?.kind === 'event' ? parsed.event : undefined;
}
