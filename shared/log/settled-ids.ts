import { clockAt, type EventClock, horizonOf } from './event-clock.ts';
import type { InputEvent } from './fold.ts';
import type { Draft } from './rows.ts';

export type SettledIds = {
  readonly has: (id: string) => boolean;
  readonly add: (id: string, event: InputEvent) => void;
  /** Forgets what is a day old, as `add` does: a subject may live on for months without another settled id. */
  readonly sweep: (event: InputEvent) => void;
  readonly forgetAll: () => void;
};

/**
 * Ids that a fold has settled, in rows `settled/<id>` for a day of event time, to recognise duplicate facts. A sweep
 * reads all ids, so it runs once per hour of event time.
 *
 * @param forget called for each deleted id, to delete other rows for it
 */
export function settledIds(draft: Draft, forget: (id: string) => void = () => undefined): SettledIds {
  const ids = draft.table<number>('settled');
  const clocks = draft.table<Pick<EventClock, 'sweptAt'>>('settled-clock');
  const forgetBefore = (horizon: number) => {
    for (const [id, time] of ids.entries()) {
      if (time >= horizon) continue;
      ids.delete(id);
      forget(id);
    }
  };
  /** @returns the time of the event by the clock of these ids */
  const sweepAt = (event: InputEvent): number => {
    const before = clocks.get('now');
    const moment = { time: Date.parse(event.time), recorded: event.recorded, moves: true };
    // The row is only written once per hour, so its time is that of the last sweep.
    const clock = clockAt(before && { time: before.sweptAt, sweptAt: before.sweptAt }, moment);
    const horizon = horizonOf(clock);
    if (horizon !== undefined) forgetBefore(horizon);
    const sweptAt = horizon === undefined ? clock.sweptAt : clock.time;
    if (before?.sweptAt !== sweptAt) clocks.set('now', { sweptAt });
    return clock.time;
  };
  return {
    has: (id) => ids.get(id) !== undefined,
    add: (id, event) => ids.set(id, sweepAt(event)),
    sweep: (event) => {
      if (clocks.get('now') !== undefined) sweepAt(event);
    },
    forgetAll: () => {
      forgetBefore(Number.POSITIVE_INFINITY);
      if (clocks.get('now') !== undefined) clocks.delete('now');
    },
  };
}
