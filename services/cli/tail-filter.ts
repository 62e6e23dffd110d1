import { type ClawLoopEvent, catalogue } from '../../shared/events/catalogue.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { readTopic } from '../../shared/log/read-topic.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { momentOf } from './moment.ts';
import { createSessionTrail } from './session-trail.ts';

/** Options as typed. An event must match all of them; of several types, one. */
export type TailFilter = {
  readonly type?: readonly string[] | undefined;
  readonly key?: string | undefined;
  readonly session?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
};

export type Filter = {
  /** The filter may drop every one of the latest records. */
  readonly isNarrow: boolean;
  readonly has: (event: ClawLoopEvent) => boolean;
};

const known: ReadonlySet<string> = new Set(catalogue.map(({ type }) => type));

/**
 * Opens a filter over events. A session is looked up in the log first: interactions do not name their session,
 * turns do. `now`: ms since 1970. @throws UsageError
 */
export async function openFilter(options: TailFilter, log: EventLog, now: number): Promise<Filter> {
  const { type, key, session } = options;
  const unknown = type?.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new UsageError(`unknown event type '${unknown}'; see clawloop topics describe`);
  const since = options.since === undefined ? undefined : momentOf(options.since, '--since', now);
  const until = options.until === undefined ? undefined : momentOf(options.until, '--until', now);
  const trail = session === undefined ? undefined : createSessionTrail(session);
  if (trail !== undefined) {
    await readTopic(log, 'turns', ({ event }) => trail.learn(event));
    await readTopic(log, 'training', ({ event }) => trail.learn(event));
  }
  return {
    isNarrow: [type, key, session, since, until].some((option) => option !== undefined),
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
