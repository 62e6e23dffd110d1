import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { TrimmableTopic } from '../../../shared/events/log-trimmed.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { EventLog, Heading } from '../../../shared/log/event-log.ts';
import { collectPlaces } from '../../../shared/log/retention.ts';
import { type ChosenCut, chooseCut, wantedCuts } from '../../../shared/retention/choose-cut.ts';
import { findHolds } from '../../../shared/retention/find-holds.ts';
import { type HistoryFold, type TopicName, theFolds } from './folds.ts';
import { rowsOf } from './history-log.ts';
import type { World } from './world.ts';

const topics: readonly TrimmableTopic[] = ['conversations', 'turns'];

/** Chooses cuts of a history as a trim does, while the history goes on. The records stay for its other readers. */
export function openTrims(world: World) {
  const starts = { conversations: [0, 0, 0], turns: [0, 0, 0] };
  let removed = 0;
  const log = logOf(world, starts);

  const choose = async (maxAgeMs: number): Promise<readonly ChosenCut[]> => {
    const newest = Math.max(...topics.flatMap((topic) => world.records[topic].flat().map(timeOf)));
    const wanted = topics.flatMap((topic) => {
      const kept = world.records[topic].map((events, partition) => {
        const start = starts[topic][partition]!;
        const collected = collectPlaces();
        for (const [index, event] of events.slice(start).entries())
          collected.add({ offset: start + index, time: timeOf(event), bytes: 1, mayEnd: true });
        return { topic, partition, start, ...collected.outline() };
      });
      return wantedCuts(kept, { maxAgeMs }, newest);
    });
    const holds = await findHolds(log, wanted);
    return wanted.map((cut) => chooseCut(cut, holds));
  };
  return {
    starts,
    removed: () => removed,
    trim: async (maxAgeMs: number): Promise<readonly ChosenCut[]> => {
      const cuts = await choose(maxAgeMs);
      for (const { topic, partition, from, place } of cuts) {
        if (place === undefined) continue;
        removed += place.offset - from;
        starts[topic][partition] = place.offset;
      }
      return cuts;
    },
  };
}

/** The folds, which say so when they read or point to a record that was removed. */
export const watchedFolds = (
  isThere: (topic: TopicName, at: Position) => boolean,
  onRemoved: (what: string) => void,
): readonly HistoryFold[] =>
  theFolds.map((fold) => ({
    ...fold,
    on: (rows, event, at, rules) => {
      const folded = fold.on(rows, event, at, rules);
      const places = [at, ...folded.emit.flatMap((fact) => ('reads' in fact ? [fact.reads] : []))];
      for (const place of places)
        if (!isThere(fold.reads, place)) onRemoved(`${fold.name} reads ${JSON.stringify(place)}`);
      return folded;
    },
  }));

const timeOf = ({ time }: ClawLoopEvent): number => Date.parse(time);

type Starts = Readonly<Record<TrimmableTopic, readonly number[]>>;

/** The parts of a log that a trim reads. */
function logOf(world: World, starts: Starts): Pick<EventLog, 'committed' | 'follow' | 'retention'> {
  return {
    committed: async (name) =>
      world.groups
        .filter(({ fold }) => fold.name === name)
        .map(({ fold, partition, position, states }) => ({
          topic: fold.reads,
          partition,
          position,
          rowsVersion: 1,
          subjects: [...states].map(([subject, rows]) => ({ subject, partition, rows: rowsOf(rows) })),
        })),
    follow: (topic, from, onRecord, { wants }) => {
      if (topic === 'dead-letters') throw new Error('a history has none');
      for (const [partition, events] of world.records[topic].entries()) {
        const first = topic === 'training' ? 0 : starts[topic][partition]!;
        for (let offset = Math.max(first, from[partition] ?? 0); offset < events.length; offset++) {
          const event = events[offset]!;
          const heading: Heading = { type: event.type, subject: event.subject, at: { partition, offset } };
          const isWanted =
            wants === undefined || (typeof wants === 'function' ? wants(heading) : wants.has(event.type));
          if (isWanted) onRecord({ event, at: heading.at, time: timeOf(event) });
        }
      }
      const over = Promise.resolve();
      return { caughtUp: over, reachEnd: () => over, position: () => [], done: over };
    },
    retention: {
      readers: async (topic) =>
        world.groups
          .filter(({ fold }) => fold.reads === topic)
          .map(({ fold, partition, position }) => ({ group: fold.name, partition, position })),
      outline: () => Promise.reject(new Error('the test has its own')),
      chainAt: () => Promise.reject(new Error('a history has no chain')),
      cut: () => Promise.reject(new Error('the test cuts')),
    },
  };
}
