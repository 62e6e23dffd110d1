import { BatchRequested } from '../../shared/events/batch-requested.ts';
import type { NewEvent } from '../../shared/events/define-event.ts';
import { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import { SessionEnded } from '../../shared/events/session-ended.ts';
import { DAY_MS } from '../../shared/log/event-clock.ts';
import type { SubjectView } from '../../shared/log/event-log.ts';
import { restedLane } from './forget.ts';
import type { SessionRow } from './lane-tables.ts';
import type { Candidate } from './sightings.ts';
import { waitingSamples } from './submit.ts';

const source = 'clawloop/collector';

/** A timer that has run out, as a fact; its time is when it is said. Undefined: not by that time. */
export type TimedFact = (time: string) => SessionEnded | LaneForgotten | BatchRequested | undefined;

/**
 * Open sessions of a lane that are settled by one of these. The name holds the last event, so that whatever
 * happens begins the span again.
 */
export const openSessions =
  (...settledBy: readonly ('votes' | 'reward')[]) =>
  ({ subject: lane, rows }: SubjectView): readonly Candidate<TimedFact>[] =>
    [...rows.entries('session/')].flatMap(([path, row]) => {
      const { open, epoch, last, settle = 'votes' } = row as SessionRow;
      if (!open || !settledBy.includes(settle)) return [];
      const [, key, ...rest] = path.split('/');
      const session = rest.join('/');
      const name = `${lane}/${key}/${session}/idle/${last}`;
      const data = {
        ...{ lane, key: decodeURIComponent(key!), session, epoch, last },
        reason: 'idle' as const,
      };
      return [{ name, fact: (time) => SessionEnded.create({ ...named(name, time), data }) }];
    });

/**
 * A lane with nothing open, whose last event is a day old. The day is of the wall clock, since no sweeper may
 * run for so long: said too early it costs only that what comes late is told so and not attributed.
 */
export function restedLanes({ subject: lane, rows }: SubjectView): readonly Candidate<TimedFact>[] {
  const last = restedLane(rows);
  if (last === undefined) return [];
  const name = `${lane}/forgotten/${last}`;
  const data = { lane, last: new Date(last).toISOString() };
  const fact: TimedFact = (time) =>
    Date.parse(time) - last < DAY_MS ? undefined : LaneForgotten.create({ ...named(name, time), data });
  return [{ name, fact }];
}

/** An adapter's samples that wait for a full batch while nothing is in the way of a smaller one. */
export function waitingBatches({ subject: adapter, rows }: SubjectView): readonly Candidate<TimedFact>[] {
  const waiting = waitingSamples(rows);
  if (waiting === undefined) return [];
  const name = `${adapter}/waited/${waiting.n}`;
  const data = { adapter, after: waiting.n, reason: 'waited' as const };
  return [{ name, fact: (time) => BatchRequested.create({ ...named(name, time), data }) }];
}

const named = (id: string, time: string): Omit<NewEvent<unknown>, 'data'> => ({ id, source, time });
