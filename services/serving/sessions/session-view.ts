import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import { aborted, createInTurn, doubling, retry } from '../../../shared/lang/async.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog, Heading, Offsets, Recorded } from '../../../shared/log/event-log.ts';
import { readToEnd } from '../../../shared/log/read-topic.ts';
import { createReachEnd } from '../reach-end.ts';
import { leaseEventTypes } from './lease-table.ts';
import type { Session } from './session-row.ts';
import { createSessionTable, type SessionTable } from './session-table.ts';
import type { SessionsState } from './stored-rows.ts';

/** The sessions of the session protocol: a fold of `conversations` in memory. */
export type SessionView = Omit<SessionTable, 'wants' | 'nextUnread' | 'read'> & {
  /**
   * Waits until the view has reached the current end of the log, at most 2 s, and only briefly while the log is
   * unavailable. False: it has not, so unknown sessions may exist.
   */
  readonly reachEnd: () => Promise<boolean>;
  readonly isCaughtUp: () => boolean;
  /** How far the view has read, per partition. */
  readonly position: () => readonly number[];
  /** Searches the whole log for the last session of a key, which may have ended too long ago for this view. */
  readonly lookUp: (sessionKey: string, keyId?: string) => Promise<Session | undefined>;
  /** Why the view stopped: a newer program version writes the log. */
  readonly stopped: () => string | undefined;
  /** Rejects if following the log fails for any other reason. */
  readonly done: Promise<void>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow' | 'read'>;
  readonly signal: AbortSignal;
  /** Called with each deleted response, including earlier ones, so that the topic needs only one reader. */
  readonly onDeleted?: (deleted: ResponseDeleted) => void;
  /** Called with each fact about an environment. */
  readonly onLease?: (event: ClawLoopEvent) => void;
  /** Called with the heading of each record, before the record is parsed. */
  readonly onHeading?: (heading: Heading) => void;
  /** A stored state, and the offsets up to which it is folded; default: the beginning. */
  readonly from?: { readonly offsets: Offsets; readonly sessions: SessionsState } | undefined;
};

const READ_RETRY_MS = 500;
const LOOK_UP_LIMIT_MS = 10_000;

export function followSessions(options: Options): SessionView {
  const { log, signal, onDeleted, onLease, onHeading, from } = options;
  const table = createSessionTable({ from: from?.sessions });
  const inTurn = createInTurn();
  let caughtUp = false;
  let stopped: string | undefined;
  let skimmed = true;
  const following = log.follow(
    'conversations',
    from?.offsets ?? {},
    ({ event }) => {
      if (event.type === 'response.deleted') onDeleted?.(event);
      else if (leaseEventTypes.has(event.type)) onLease?.(event);
      else table.apply(event);
    },
    {
      signal,
      wants: (heading) => {
        onHeading?.(heading);
        const { type } = heading;
        return type === 'response.deleted' || leaseEventTypes.has(type) || table.wants(heading, skimmed);
      },
    },
  );
  /** Reads the noted answers of sessions that are still open. */
  const whenCaughtUp = following.caughtUp.then(async () => {
    for (let at = table.nextUnread(); at !== undefined; at = table.nextUnread())
      table.read(at, await readPatiently(log, at, signal));
    skimmed = false;
    caughtUp = true;
  });
  whenCaughtUp.catch(() => {}); // `done` reports the reason
  return {
    ...table,
    isCaughtUp: () => caughtUp,
    position: following.position,
    reachEnd: createReachEnd(() => Promise.all([whenCaughtUp, following.reachEnd()])),
    // one at a time for each access key, because each look-up reads the whole log
    lookUp: (sessionKey, keyId = '') => inTurn(keyId, () => lookUp(log, sessionKey)),
    stopped: () => stopped,
    done: following.done.catch((error: Error) => {
      if (!isLogError(error, 'NewerSchema')) throw error;
      stopped = error.message;
      return aborted(signal);
    }),
  };
}

async function lookUp(log: Pick<EventLog, 'follow'>, only: string): Promise<Session | undefined> {
  const table = createSessionTable({ only });
  const wants = (heading: Heading) => table.wants(heading, true);
  const onRecord = ({ event }: Recorded) => table.apply(event);
  const signal = AbortSignal.timeout(LOOK_UP_LIMIT_MS);
  await readToEnd(log, 'conversations', onRecord, { wants, signal }).catch(() => {});
  return table.of(only);
}

/** Undefined: the record is unreadable or gone. */
async function readPatiently(
  log: Pick<EventLog, 'read'>,
  at: Position,
  signal: AbortSignal,
): Promise<ClawLoopEvent | undefined> {
  const onFailure = (error: unknown) => {
    if (!isLogError(error, 'LogUnavailable')) throw error;
  };
  const waits = doubling(READ_RETRY_MS, READ_RETRY_MS);
  return retry(() => log.read('conversations', at), { waits, onFailure, signal }).catch(() => undefined);
}
