import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { ServingError } from '../errors.ts';
import { noReward, sessionEnded } from './session-events.ts';
import type { Session } from './session-row.ts';
import type { SessionView } from './session-view.ts';

export const RETRY_SECONDS = 5;

/** The final state of a session; the same for repeated requests. */
export type EndedSession = Pick<Session, 'session' | 'interactions' | 'guarded'>;

export type RecordOptions = {
  readonly view: Pick<SessionView, 'apply' | 'reachEnd' | 'of' | 'isCaughtUp'>;
  readonly recorder: {
    /** False: the event is lost. */
    readonly record: (event: ClawLoopEvent) => Promise<boolean>;
    readonly outboxDepth: () => number;
  };
  /** ms since 1970 */
  readonly now: () => number;
};

/** Reads sessions from the view and records their events. */
export type SessionRecords = ReturnType<typeof createSessionRecords>;

export function createSessionRecords({ view, recorder, now }: RecordOptions) {
  const record = async (event: ClawLoopEvent): Promise<void> => {
    if (!(await recorder.record(event)))
      throw ServingError.NOT_RECORDED({ retryAfterSeconds: RETRY_SECONDS });
    view.apply(event);
  };
  /** The latest session of a session key. @throws ServingError SESSIONS_UNREAD if it may exist in unread records */
  const find = async (sessionKey: string): Promise<Session | undefined> => {
    const reached = await view.reachEnd();
    const session = view.of(sessionKey);
    if (!view.isCaughtUp() || (session === undefined && !reached))
      throw ServingError.SESSIONS_UNREAD({ retryAfterSeconds: RETRY_SECONDS });
    return session;
  };
  const current = async (sessionKey: string): Promise<Session> => {
    const session = await find(sessionKey);
    // A key is sent when its session is in the log, so an unknown session ended long ago.
    if (session === undefined || session.ended !== undefined) throw ServingError.SESSION_ENDED();
    return session;
  };
  const end = async (open: Session, discard: boolean): Promise<EndedSession> => {
    const { session, interactions, last, rewards, guarded } = open;
    if (!discard && rewards.size === 0 && last !== undefined) await record(noReward(open, last, now()));
    await record(sessionEnded(open, discard, now()));
    return { session, interactions, guarded };
  };
  return { record, find, current, end };
}
