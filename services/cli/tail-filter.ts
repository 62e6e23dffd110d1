import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { momentOf } from './moment.ts';
import { readTopic } from './read-topic.ts';
import { createSessionTrail } from './session-trail.ts';

/** As typed. All that are given must hold; of several types, one. */
export type TailFilter = {
  readonly type?: readonly string[] | undefined;
  readonly key?: string | undefined;
  readonly session?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
};

export type Filter = {
  /** Something is asked for: what remains of the latest records may be nothing. */
  readonly isNarrow: boolean;
  readonly has: (event: ClawLoopEvent) => boolean;
};

/**
 * Whether an event is asked for. A session is looked up in the log first: its interactions do not name it,
 * their turns do. `now`: ms since 1970. @throws UsageError
 */
export async function openFilter(asked: TailFilter, log: EventLog, now: number): Promise<Filter> {
  const { type, key, session } = asked;
  const since = asked.since === undefined ? undefined : momentOf(asked.since, '--since', now);
  const until = asked.until === undefined ? undefined : momentOf(asked.until, '--until', now);
  const trail = session === undefined ? undefined : createSessionTrail(session);
  if (trail !== undefined) {
    await readTopic(log, 'turns', ({ event }) => trail.learn(event));
    await readTopic(log, 'training', ({ event }) => trail.learn(event));
  }
  return {
    isNarrow: [type, key, session, since, until].some((one) => one !== undefined),
    has: (event) => {
      trail?.learn(event);
      if (type !== undefined && !type.includes(event.type)) return false;
      if (key !== undefined && event.subject !== key) return false;
      if (since !== undefined && Date.parse(event.time) < since) return false;
      if (until !== undefined && Date.parse(event.time) >= until) return false;
      return trail === undefined || trail.has(event);
    },
  };
}
