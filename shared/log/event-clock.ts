const HOUR_MS = 3_600_000;
/** Ids are kept while their session is open and a day of event time longer. */
export const DAY_MS = 24 * HOUR_MS;

/** Event times of a fold's subject, ms since 1970. */
export type EventClock = {
  /** of the latest event, and never far ahead of when events are appended */
  readonly time: number;
  readonly sweptAt: number;
  /** ids of earlier events may be forgotten; absent in rows of earlier programs: those a day before `time` */
  readonly floor?: number;
};

type Moment = {
  /** ms since 1970, by the clock of the event's writer */
  readonly time: number;
  /** ms since 1970, when the event was appended; undefined: not known */
  readonly recorded: number | undefined;
  /** a sweeper's timer does not move it */
  readonly moves: boolean;
};

/**
 * The clock of a subject, a lane say, as an event finds it. Its time never passes the moment at which an event was appended, so an
 * event from the future does not make later ones late. A time that is already ahead, since the clock of the
 * whole machine was, falls back with the first event that is appended an hour before it.
 */
export function clockAt(before: EventClock | undefined, { time, recorded, moves }: Moment): EventClock {
  const limit = recorded !== undefined && recorded > 0 ? recorded : Number.POSITIVE_INFINITY;
  const bounded = Math.min(time, limit);
  if (before === undefined) return { time: bounded, sweptAt: bounded, floor: 0 };
  if (!moves) return before;
  if (before.time > limit + HOUR_MS) {
    const sweptAt = Math.min(before.sweptAt, limit);
    return { time: limit, sweptAt, floor: Math.min(floorOf(before), limit - HOUR_MS) };
  }
  return bounded > before.time ? { ...before, time: bounded } : before;
}

const floorOf = ({ floor, time }: EventClock): number => floor ?? time - DAY_MS;

/** Whether the id of an event may have been forgotten, or will be by the next sweep. */
export const isTooLate = (clock: EventClock, time: number): boolean =>
  time < Math.max(floorOf(clock), clock.time - DAY_MS);

/**
 * Before which event time rows may go now; undefined: it is not time for that. Sweeping reads all rows of the
 * subject, so it is done once per hour of event time. It goes by the hour before: a single wrong reading of a clock
 * forgets nothing, and keeping a row longer than a day is always safe.
 */
export const horizonOf = ({ time, sweptAt }: EventClock): number | undefined =>
  time - sweptAt >= HOUR_MS ? sweptAt - DAY_MS : undefined;

export const sweptClock = (clock: EventClock, horizon: number): EventClock => ({
  ...clock,
  sweptAt: clock.time,
  floor: Math.max(floorOf(clock), horizon),
});
