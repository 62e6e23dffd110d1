import { BatchRequested } from '../../shared/events/batch-requested.ts';
import type { NewEvent } from '../../shared/events/define-event.ts';
import { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import { PolicyCanaryExpired } from '../../shared/events/policy-canary-expired.ts';
import { SessionEnded } from '../../shared/events/session-ended.ts';
import { DAY_MS } from '../../shared/log/event-clock.ts';
import type { SubjectView } from '../../shared/log/event-log.ts';
import { HOUR_MS, runningCanary } from './canary.ts';
import { inactiveSince } from './forget.ts';
import type { SessionRow } from './lane-tables.ts';
import type { Candidate } from './sightings.ts';
import { waitingSamples } from './submit.ts';

const source = 'clawloop/collector';

/** Creates the event of an expired timer at a given time. Undefined: it has not expired by that time. */
export type TimedFact = (
  time: string,
) => SessionEnded | LaneForgotten | BatchRequested | PolicyCanaryExpired | undefined;

/**
 * Open sessions of a lane, by how they are settled. The name contains the last event, so every event restarts
 * the span.
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
        lane,
        key: decodeURIComponent(key!),
        session,
        epoch,
        last,
        reason: 'idle' as const,
      };
      return [{ name, fact: (time) => SessionEnded.create({ ...envelope(name, time), data }) }];
    });

/**
 * A lane with no open session whose last event is a day old. The day is measured by the wall clock, because a
 * sweeper may not run that long. Forgetting a lane too early only means that late events are not attributed.
 */
export function inactiveLanes({ subject: lane, rows }: SubjectView): readonly Candidate<TimedFact>[] {
  const last = inactiveSince(rows);
  if (last === undefined) return [];
  const name = `${lane}/forgotten/${last}`;
  const data = { lane, last: new Date(last).toISOString() };
  const fact: TimedFact = (time) =>
    Date.parse(time) - last < DAY_MS ? undefined : LaneForgotten.create({ ...envelope(name, time), data });
  return [{ name, fact }];
}

/** An adapter whose samples wait for a full batch although a smaller one could be formed. */
export function waitingBatches({ subject: adapter, rows }: SubjectView): readonly Candidate<TimedFact>[] {
  const waiting = waitingSamples(rows);
  if (waiting === undefined) return [];
  const name = `${adapter}/waited/${waiting.n}`;
  const data = { adapter, after: waiting.n, reason: 'waited' as const };
  return [{ name, fact: (time) => BatchRequested.create({ ...envelope(name, time), data }) }];
}

/**
 * A canary whose time is over, or that seems to start in the future, because a clock was ahead. The hours are measured
 * by the wall clock, because a sweeper may not run that long; the fold measures them again when it reads the event.
 */
export const longCanaries =
  (hours: number) =>
  ({ rows }: SubjectView): readonly Candidate<TimedFact>[] => {
    const running = runningCanary(rows);
    if (running === undefined) return [];
    const { batchId, adapter } = running.canary;
    const name = `${batchId}/canary-expired`;
    const fact: TimedFact = (time) => {
      const elapsed = Date.parse(time) - running.since;
      return elapsed >= 0 && elapsed < hours * HOUR_MS
        ? undefined
        : PolicyCanaryExpired.create({ ...envelope(name, time), data: { batchId, adapter } });
    };
    return [{ name, fact }];
  };

const envelope = (id: string, time: string): Omit<NewEvent<unknown>, 'data'> => ({ id, source, time });
