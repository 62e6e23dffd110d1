import type { Topic } from '../../../shared/events/define-event.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { createCautions } from '../../../shared/views/cautions.ts';
import { createDecisions } from './decisions.ts';
import { type Place, packPlace, placeName, unpackPlace } from './place.ts';
import { createTurnTable } from './turn-table.ts';

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

export type SessionState = { readonly task?: string | undefined; readonly isClosed: boolean };

export type ConsoleModel = ReturnType<typeof createConsoleModel>;

/** Everything that the pages show about the log, in memory. Feed it the topics in the order of the loop. */
export function createConsoleModel() {
  const turns = createTurnTable();
  const decisions = createDecisions();
  const cautions = createCautions();
  const sessions = new Map<string, SessionState>();
  const setAside = new Set<string>();
  let letters: (Omit<DeadLetter, 'place'> & { readonly packed: number })[] = [];
  let letterCount = 0;
  let revision = 0;
  let first: number | undefined;

  const on = (record: Recorded, topic: Topic): void => {
    const { event, at, time } = record;
    revision += 1;
    first = Math.min(first ?? time, time);
    turns.on(record, topic);
    decisions.on(record, topic);
    cautions.on(event);
    switch (event.type) {
      case 'session.started':
        sessions.set(event.data.session, { task: event.data.task, isClosed: false });
        break;
      case 'session.opened':
        sessions.set(event.data.session, { ...sessions.get(event.data.session), isClosed: false });
        break;
      case 'session.closed':
        sessions.set(event.data.session, { ...sessions.get(event.data.session), isClosed: true });
        break;
      case 'wish.set-aside':
        setAside.add(event.data.wish);
        break;
      case 'wish.taken-up':
        setAside.delete(event.data.wish);
        break;
      case 'event.rejected': {
        const { topic: of, at: ofAt, group, error } = event.data;
        const packed = packPlace({ topic, ...at });
        const place = placeName({ topic: of as Topic, ...ofAt });
        letters.push({ packed, time: event.time, of: place, group, error: error.slice(0, 500) });
        letterCount += 1;
        if (letters.length > 2 * LETTERS) letters = letters.slice(-LETTERS);
        break;
      }
    }
  };

  return {
    on,
    turns,
    decisions,
    cautions: cautions.cautions,
    session: (name: string): SessionState | undefined => sessions.get(name),
    /** rewarded sessions have a task */
    sessions: (): ReadonlyMap<string, SessionState> => sessions,
    wishesSetAside: (): readonly string[] => [...setAside],
    letters: () => ({
      count: letterCount,
      latest: letters
        .slice(-LETTERS)
        .map(({ packed, ...letter }): DeadLetter => ({ ...letter, place: unpackPlace(packed) }))
        .reverse(),
    }),
    /** grows with every record */
    revision: () => revision,
    /** ms since 1970 of the first append */
    firstTime: () => first,
  };
}
