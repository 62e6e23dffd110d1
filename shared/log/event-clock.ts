const HOUR_MS = 3_600_000;
/** Ids are kept while their session is open, plus one day of event time. */
export const DAY_MS = 24 * HOUR_MS;

/** Event times of a fold's subject, ms since 1970. */
export type EventClock = {
  /** time of the latest event, but never far ahead of the time of its append */
  readonly time: number;
  readonly sweptAt: number;
  /** ids of events before this time may be forgotten; absent in rows of earlier versions: a day before `time` */
  readonly floor?: number;
};

type Moment = {
  /** ms since 1970, by the clock of the event's writer */
  readonly time: number;
  /** time of the append, ms since 1970; undefined: unknown */
  readonly recorded: number | undefined;
  /** whether the event advances the clock; false for a sweeper's timer */
  readonly moves: boolean;
};

/**
 * The clock of a subject (for example, a lane) at an event. It never passes the time of the append, so an event
 * dated in the future does not make later events late. If the clock is already ahead because the machine's clock
 * was wrong, the first event appended more than an hour before it sets it back.
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
 * The event time before which rows may be deleted now; undefined: no sweep is due. A sweep reads all rows of the
 * subject, so it runs once per hour of event time. The horizon follows the time of the previous sweep: one wrong
 * clock reading deletes nothing, and keeping a row for more than a day is always safe.
 */
export const horizonOf = ({ time, sweptAt }: EventClock): number | undefined =>
  time - sweptAt >= HOUR_MS ? sweptAt - DAY_MS : undefined;

export const sweptClock = (clock: EventClock, horizon: number): EventClock => ({
  ...clock,
  sweptAt: clock.time,
  floor: Math.max(floorOf(clock), horizon),
});
