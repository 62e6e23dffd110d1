import type { ClawLoopEvent } from '../../../../shared/events/catalogue.ts';
import { allEvents } from '../history-log.ts';
import type { World } from '../world.ts';

type EventOfType<Type extends ClawLoopEvent['type']> = Extract<ClawLoopEvent, { type: Type }>;

/** A finished history, read from the log alone. */
export type History = {
  readonly world: World;
  readonly all: readonly ClawLoopEvent[];
  readonly of: <Type extends ClawLoopEvent['type']>(type: Type) => readonly EventOfType<Type>[];
  /** the first copy of each */
  readonly interactions: ReadonlyMap<string, EventOfType<'interaction.completed'>>;
};

/** What is broken, in words; empty: the law holds. */
export type Law = (history: History) => readonly string[];

export function readHistory(world: World): History {
  const all = allEvents(world.records);
  const byType = Map.groupBy(all, ({ type }) => type);
  const of = <Type extends ClawLoopEvent['type']>(type: Type) =>
    (byType.get(type) ?? []) as unknown as readonly EventOfType<Type>[];
  const interactions = new Map(
    of('interaction.completed')
      .toReversed()
      .map((event) => [event.id, event]),
  );
  return { world, all, of, interactions };
}

/** Where the first copy of each event stands in its partition. */
export function firstPlaces(log: readonly (readonly ClawLoopEvent[])[]): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const partition of log)
    for (const [index, { id }] of partition.entries()) if (!first.has(id)) first.set(id, index);
  return first;
}
