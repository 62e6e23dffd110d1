import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { createSessionTable, type SessionTable } from './session-table.ts';

/** What this process knows of the sessions of the session protocol: a fold of `conversations` in memory. */
export type SessionView = Omit<SessionTable, 'wants' | 'unread'> & {
  /**
   * Waits until the view has reached the end of the log as of now, at most 2 s. False: it has not, and what it
   * does not know may be there.
   */
  readonly reachEnd: () => Promise<boolean>;
  readonly isCaughtUp: () => boolean;
  /** Why the view goes no further: the log was written on by a newer version. */
  readonly stopped: () => string | undefined;
  /** Rejects when the log cannot be followed any more, for any other reason. */
  readonly done: Promise<void>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow' | 'read'>;
  readonly signal: AbortSignal;
};

const LONGEST_WAIT_MS = 2_000;

export function followSessions({ log, signal }: Options): SessionView {
  const table = createSessionTable();
  let caughtUp = false;
  let stopped: string | undefined;
  const following = log.follow('conversations', {}, ({ event }) => table.apply(event), signal);
  const whenCaughtUp = following.caughtUp.then(() => {
    caughtUp = true;
  });
  whenCaughtUp.catch(() => {}); // `done` tells why
  return {
    ...table,
    isCaughtUp: () => caughtUp,
    reachEnd: async () => {
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<false>((resolve) => {
        timer = setTimeout(resolve, LONGEST_WAIT_MS, false);
      });
      const reached = Promise.all([whenCaughtUp, following.reachEnd()]).then(
        () => true,
        () => false,
      );
      return await Promise.race([reached, limit]).finally(() => clearTimeout(timer));
    },
    stopped: () => stopped,
    done: following.done.catch((error: Error) => {
      if (!isLogError(error, 'NewerSchema')) throw error;
      stopped = error.message;
      return untilAborted(signal);
    }),
  };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
