import { z } from 'zod';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { EventRejected } from '../../../shared/events/event-rejected.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import type { SnapshotKind } from '../../../shared/log/snapshots/snapshots.ts';
import { cautionsState, createCautions } from '../../../shared/views/cautions.ts';
import { type Place, packPlace, placeName, unpackPlace } from '../../../shared/views/place.ts';
import type { SessionState } from '../../../shared/views/session-table.ts';
import { createDecisions, decisionsState } from './decisions.ts';
import { createTurnRows, type TurnRows } from './turns/turn-rows.ts';

/** A record that a fold could not read. */
export type DeadLetter = {
  readonly place: Place;
  readonly time: string;
  /** place of the rejected record */
  readonly of: string;
  readonly group: string;
  readonly error: string;
};

/** Dead letters that stay in memory; the count goes on. */
const LETTERS = 1_000;

export type ConsoleModel = ReturnType<typeof createConsoleModel>;

const consoleState = z.object({
  decisions: decisionsState,
  cautions: cautionsState,
  setAside: z.array(z.string()),
  letters: z.array(
    z.object({ packed: z.int(), time: z.string(), of: z.string(), group: z.string(), error: z.string() }),
  ),
  letterCount: z.int(),
  first: z.number().optional(),
});
type ConsoleState = z.output<typeof consoleState>;

/** What the console knows besides the turns. */
export const storedConsole = {
  name: 'console',
  version: 1,
  state: consoleState,
  outlivesTrims: true,
} satisfies SnapshotKind<unknown>;

/** By topic, the first kept offset of each partition. */
export type Starts = Readonly<Partial<Record<Topic, readonly number[]>>>;

type Stored = {
  readonly turns?: TurnRows;
  readonly others?: ConsoleState | undefined;
  /** Whether `others` has not read the record yet. */
  readonly isNew?: (topic: Topic, at: Position) => boolean;
};

/** Everything that the pages show about the log. Feed it the topics in the order of the loop. */
export function createConsoleModel({
  turns = createTurnRows(),
  others: from,
  isNew = () => true,
}: Stored = {}) {
  const decisions = createDecisions(from?.decisions);
  const cautions = createCautions(from?.cautions);
  const setAside = new Set<string>(from?.setAside);
  const letters = createLetters(from);
  let revision = 0;
  let first = from?.first;

  let starts: Starts = {};
  const isTrimmed = (topic: Topic, { partition, offset }: Position): boolean =>
    offset < (starts[topic]?.[partition] ?? 0);
  /** Forgets the turns and sessions that the log no longer holds. What is known of kept turns stays. */
  const trim = async (now: Starts): Promise<void> => {
    starts = now;
    if (await turns.forget(now)) revision += 1;
  };

  const on = (record: Recorded, topic: Topic): void => {
    const { event, at, time } = record;
    // it was fetched before the trim
    if (isTrimmed(topic, at)) return;
    revision += 1;
    // turns do not depend on dead letters
    if (topic !== 'dead-letters') turns.on(record, topic);
    if (!isNew(topic, at)) return;
    first = Math.min(first ?? time, time);
    decisions.on(record, topic);
    cautions.on(event);
    switch (event.type) {
      case 'wish.set-aside':
        setAside.add(event.data.wish);
        break;
      case 'wish.taken-up':
        setAside.delete(event.data.wish);
        break;
      case 'event.rejected':
        letters.on(event, packPlace({ topic, ...at }));
        break;
    }
  };

  return {
    on,
    trim,
    turns,
    decisions,
    cautions: cautions.cautions,
    session: (name: string): SessionState | undefined => turns.session(name),
    wishesSetAside: (): readonly string[] => [...setAside],
    letters: letters.latest,
    /** for `storedConsole` */
    others: (): ConsoleState => ({
      decisions: decisions.state(),
      cautions: cautions.state(),
      setAside: [...setAside],
      ...letters.state(),
      first,
    }),
    /** grows with every record */
    revision: () => revision,
    /** ms since 1970 of the first append */
    firstTime: () => first,
  };
}

/** The latest dead letters, and the number of all. */
function createLetters(from: Pick<ConsoleState, 'letters' | 'letterCount'> | undefined) {
  let letters: ConsoleState['letters'] = [...(from?.letters ?? [])];
  let letterCount = from?.letterCount ?? 0;
  return {
    on: ({ data, time }: EventRejected, packed: number): void => {
      const { topic, at, group, error } = data;
      const of = placeName({ topic: topic as Topic, ...at });
      letters.push({ packed, time, of, group, error: error.slice(0, 500) });
      letterCount += 1;
      if (letters.length > 2 * LETTERS) letters = letters.slice(-LETTERS);
    },
    latest: () => ({
      count: letterCount,
      latest: letters
        .slice(-LETTERS)
        .map(({ packed, ...letter }): DeadLetter => ({ ...letter, place: unpackPlace(packed) }))
        .reverse(),
    }),
    state: () => ({ letters, letterCount }),
  };
}
