import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { topicOf } from '../../../shared/events/parse-event.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { Fold } from '../../../shared/log/fold.ts';
import { type MemoryRows, memoryRows } from '../../../shared/log/rows.ts';

/** A fold with the rules in force for it. */
export type Reader = (rows: MemoryRows, event: ClawLoopEvent, at: Position) => ReturnType<Fold['on']>;
export type NamedReader = { readonly name: string; readonly reads: Topic; readonly on: Reader };

export const readerOf = <Settings>({ name, reads, on }: Fold<Settings>, settings: Settings): NamedReader => ({
  name,
  reads,
  on: (rows, event, at) => on(rows, event, at, settings),
});

/** The three topics and their folds in the memory of one process, one partition each: a log without I/O. */
export function openMemoryLog(readers: readonly NamedReader[], onEvent: (event: ClawLoopEvent) => void) {
  const topics = new Map<Topic, ClawLoopEvent[]>();
  const groups = readers.map((reader) => ({
    ...reader,
    next: 0,
    rows: new Map<string, MemoryRows>(),
  }));
  const records = (topic: Topic): ClawLoopEvent[] => {
    const known = topics.get(topic) ?? [];
    topics.set(topic, known);
    return known;
  };
  const write = (event: ClawLoopEvent): void => {
    records(topicOf(event)).push(event);
    onEvent(event);
  };
  /** @returns whether there was anything to read */
  const readOn = (group: (typeof groups)[number]): boolean => {
    const input = records(group.reads);
    const event = input[group.next];
    if (event === undefined) return false;
    const rows = group.rows.get(event.subject) ?? memoryRows();
    group.rows.set(event.subject, rows);
    const { changes, emit } = group.on(rows, event, { partition: 0, offset: group.next });
    group.next += 1;
    rows.apply(changes);
    for (const fact of emit) write('reads' in fact ? fact.create(input[fact.reads.offset]!) : fact);
    return true;
  };
  return {
    /** Writes the facts and lets every fold read to the end. */
    append: (events: readonly ClawLoopEvent[]): void => {
      for (const event of events) write(event);
      while (groups.some(readOn));
    },
    read: (topic: Topic, { offset }: Position): ClawLoopEvent => records(topic)[offset]!,
    rowsOf: (fold: string, subject: string): MemoryRows =>
      groups.find(({ name }) => name === fold)?.rows.get(subject) ?? memoryRows(),
  };
}
