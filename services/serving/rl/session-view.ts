import { setTimeout as delay } from 'node:timers/promises';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog, Heading, Recorded } from '../../../shared/log/event-log.ts';
import { pause } from '../../../shared/log/pause.ts';
import { createInTurn } from '../in-turn.ts';
import { createReachEnd } from '../reach-end.ts';
import { createSessionTable, type Session, type SessionTable } from './session-table.ts';

/** What this process knows of the sessions of the session protocol: a fold of `conversations` in memory. */
export type SessionView = Omit<SessionTable, 'wants' | 'nextUnread' | 'read'> & {
  /**
   * Waits until the view has reached the end of the log as of now, at most 2 s, and hardly while the log is
   * away. False: it has not, and what it does not know may be there.
   */
  readonly reachEnd: () => Promise<boolean>;
  readonly isCaughtUp: () => boolean;
  /** The last session of a key out of the whole log, where it ended so long ago that it is forgotten here. */
  readonly lookUp: (sessionKey: string, keyId?: string) => Promise<Session | undefined>;
  /** Why the view goes no further: the log was written on by a newer version. */
  readonly stopped: () => string | undefined;
  /** Rejects when the log cannot be followed any more, for any other reason. */
  readonly done: Promise<void>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow' | 'read'>;
  readonly signal: AbortSignal;
  /** Is told of each response that was deleted, also before this process began: one reader of the topic is enough. */
  readonly onDeleted?: (deleted: ResponseDeleted) => void;
  /** Is told of each record, before it is parsed. */
  readonly onHeading?: (heading: Heading) => void;
};

const READ_RETRY_MS = 500;
const LOOK_UP_LIMIT_MS = 10_000;

export function followSessions({ log, signal, onDeleted, onHeading }: Options): SessionView {
  const table = createSessionTable();
  const inTurn = createInTurn();
  let caughtUp = false;
  let stopped: string | undefined;
  let skimmed = true;
  const following = log.follow(
    'conversations',
    {},
    ({ event }) => (event.type === 'response.deleted' ? onDeleted?.(event) : table.apply(event)),
    signal,
    (heading) => {
      onHeading?.(heading);
      return heading.type === 'response.deleted' || table.wants(heading, skimmed);
    },
  );
  /** Of what was only noted, the answers of sessions that are open are needed after all. */
  const whenCaughtUp = following.caughtUp.then(async () => {
    for (let at = table.nextUnread(); at !== undefined; at = table.nextUnread())
      table.read(at, await readPatiently(log, at, signal));
    skimmed = false;
    caughtUp = true;
  });
  whenCaughtUp.catch(() => {}); // `done` tells why
  return {
    ...table,
    isCaughtUp: () => caughtUp,
    reachEnd: createReachEnd(() => Promise.all([whenCaughtUp, following.reachEnd()])),
    // one at a time for each access key: each reads the log from its beginning
    lookUp: (sessionKey, keyId = '') => inTurn(keyId, () => lookUp(log, sessionKey)),
    stopped: () => stopped,
    done: following.done.catch((error: Error) => {
      if (!isLogError(error, 'NewerSchema')) throw error;
      stopped = error.message;
      return untilAborted(signal);
    }),
  };
}

async function lookUp(log: Pick<EventLog, 'follow'>, only: string): Promise<Session | undefined> {
  const table = createSessionTable({ only });
  const stop = new AbortController();
  const wants = (heading: Heading) => table.wants(heading, true);
  const onRecord = ({ event }: Recorded) => table.apply(event);
  const following = log.follow('conversations', {}, onRecord, stop.signal, wants);
  const patience = delay(LOOK_UP_LIMIT_MS, undefined, { signal: stop.signal }).catch(() => {});
  await Promise.race([following.caughtUp.catch(() => {}), patience]);
  stop.abort();
  await following.done.catch(() => {});
  return table.of(only);
}

/** Undefined: it cannot be read, or is not there any more. */
async function readPatiently(
  log: Pick<EventLog, 'read'>,
  at: Position,
  signal: AbortSignal,
): Promise<ClawLoopEvent | undefined> {
  for (;;) {
    try {
      return await log.read('conversations', at);
    } catch (error) {
      if (signal.aborted || !isLogError(error, 'LogUnavailable')) return undefined;
      await pause(READ_RETRY_MS, signal);
    }
  }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
