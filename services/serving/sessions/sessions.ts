import type { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { createInTurn } from '../../../shared/lang/async.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { ServingError } from '../errors.ts';
import { newSessionKey, type SessionKey } from '../http/session-key.ts';
import { laneOf } from './lane.ts';
import { rewardGiven, type SessionTerms } from './session-events.ts';
import { createSessionRecords, type EndedSession, RETRY_SECONDS } from './session-records.ts';
import type { Session } from './session-row.ts';
import type { SessionStep } from './session-steps.ts';
import { createSessionStart, type Starter, type StartOptions } from './start-session.ts';
import type { StepScore } from './step-votes.ts';

/** A session that is settled by reward, for the answer that is given in it. */
export type RewardedSession = {
  /** Call this with each recorded answer. */
  readonly answered: (event: InteractionCompleted) => void;
  readonly end: () => Promise<unknown>;
};

type Reward = {
  readonly score: number;
  readonly interactionId: string | undefined;
  readonly advantage: number | undefined;
  /** all steps of the session, compared with those of other attempts */
  readonly steps: FeedbackGiven['data']['steps'];
};

/** The open session of a key with its steps, and how the judge votes on them. */
type StepReport = {
  readonly session: Session;
  readonly steps: readonly (SessionStep & StepScore)[];
};

/** The session protocol: programs start, reward and end sessions. */
export type Sessions = {
  /**
   * Starts a session with a new key or an existing one, whose open session ends first. If there is no room, nothing
   * changes.
   *
   * @param task default: the task of the key's last session
   * @throws ServingError TOO_MANY_SESSIONS, TRAINING_BEHIND, NOT_RECORDED, SESSIONS_UNREAD
   */
  readonly start: (
    starter: Starter,
    task: string | undefined,
    refreshed: SessionKey | undefined,
    terms?: SessionTerms,
  ) => Promise<{ readonly session: string; readonly key: SessionKey }>;
  /** The open session of a session key. @throws ServingError SESSION_ENDED, SESSIONS_UNREAD */
  readonly current: (sessionKey: string) => Promise<Session>;
  readonly rewardedSession: (session: Session) => RewardedSession;
  /**
   * Rewards an answer of an open session, by default the last one. Rewards can be repeated; the last one counts.
   * @returns the id of the rewarded answer
   * @throws ServingError NOTHING_TO_REWARD, INTERACTION_NOT_FOUND, NOT_RECORDED, and those of `current`
   */
  readonly reward: (
    sessionKey: string,
    reward: Reward,
  ) => Promise<{ readonly session: string; readonly interactionId: string }>;
  /** The steps of an open session, and the votes on them so far. @throws ServingError as `current` */
  readonly steps: (sessionKey: string) => Promise<StepReport>;
  /**
   * Ends the session of a session key. A session without rewards gets the reward 0; a discarded session does not train.
   * @throws ServingError NOT_RECORDED, SESSION_ENDED, SESSIONS_UNREAD
   */
  readonly end: (sessionKey: string, discard: boolean) => Promise<EndedSession>;
  /**
   * Ends a session for an access key, in case its session key is lost.
   * @throws ServingError SESSION_NOT_FOUND, NOT_RECORDED, SESSIONS_UNREAD
   */
  readonly endNamed: (keyId: string, session: string, discard: boolean) => Promise<EndedSession>;
  /** Whether an open session of the session protocol has this name. */
  readonly isOpen: (keyId: string, session: string) => Promise<boolean>;
  /** Sessions of an access key: the open ones and the latest ended ones, latest first. */
  readonly list: (keyId: string) => Promise<readonly Session[]>;
};

export function openSessions(options: StartOptions): Sessions {
  const { view, now, votes } = options;
  const inTurn = createInTurn();
  const records = createSessionRecords(options);
  const { start, lookBack } = createSessionStart(options, records);

  /** Ends this session, even if its key has a later one. */
  const endThis = (session: Session, discard: boolean): Promise<EndedSession> =>
    inTurn(session.sessionKey, async () => {
      const latest = view.inLane(session.lane) ?? session;
      return latest.ended === undefined ? await records.end(latest, discard) : latest;
    });
  /** Checks key and name, because two names may have the same lane, which is a short hash. */
  const findNamed = (keyId: string, name: string): Session | undefined => {
    const session = view.inLane(laneOf(keyId, name));
    return session?.keyId === keyId && session.session === name ? session : undefined;
  };
  const catchUp = async (): Promise<void> => {
    await view.reachEnd();
    if (!view.isCaughtUp()) throw ServingError.SESSIONS_UNREAD({ retryAfterSeconds: RETRY_SECONDS });
  };

  return {
    start: (starter, task, refreshed, terms = {}) => {
      const key = refreshed ?? newSessionKey(starter.keyId);
      return inTurn(key.id, async () => {
        const forgotten = await lookBack(starter, task, refreshed); // slow, so other sessions may start meanwhile
        const startNow = () => start({ starter, task, terms, key, forgotten });
        // each access key has one start in the queue, so that no key waits for all starts of another one
        return inTurn(`starts of ${starter.keyId}`, () => inTurn('start', startNow));
      });
    },
    current: records.current,
    rewardedSession: (session) => ({
      answered: view.apply,
      // if this fails, the answer is still complete, and the session ends when it is idle
      end: () => endThis(session, false).catch(() => undefined),
    }),
    reward: (sessionKey, { score, interactionId, advantage, steps }) =>
      inTurn(sessionKey, async () => {
        const open = await records.current(sessionKey);
        const id = interactionId ?? open.last;
        if (id === undefined) throw ServingError.NOTHING_TO_REWARD();
        if (!open.has(id)) throw ServingError.INTERACTION_NOT_FOUND({ id, param: 'interaction_id' });
        const unknown = steps?.find((step) => !open.has(step.interactionId))?.interactionId;
        if (unknown !== undefined) throw ServingError.INTERACTION_NOT_FOUND({ id: unknown, param: 'steps' });
        const data = {
          score,
          interactionId: id,
          ...defined({ advantage, steps, last: interactionId === undefined ? (true as const) : undefined }),
        };
        await records.record(rewardGiven(open, data, now()));
        return { session: open.session, interactionId: id };
      }),
    steps: async (sessionKey) => {
      const session = await records.current(sessionKey);
      const { process } = session;
      const votesOn = process && (await votes.of(session.lane));
      const scoreOf = ({ id, isContinued }: SessionStep): StepScore =>
        isContinued && process && votesOn ? votesOn(id, process.votes) : { votes: 'none', score: 0 };
      return { session, steps: session.steps().map((step) => ({ ...step, ...scoreOf(step) })) };
    },
    end: (sessionKey, discard) =>
      inTurn(sessionKey, async () => {
        const session = (await records.find(sessionKey)) ?? (await view.lookUp(sessionKey));
        if (session === undefined) throw ServingError.SESSION_ENDED();
        return session.ended === undefined ? await records.end(session, discard) : session;
      }),
    endNamed: async (keyId, name, discard) => {
      await catchUp();
      const session = findNamed(keyId, name);
      if (session === undefined) throw ServingError.SESSION_NOT_FOUND({ session: name, param: 'session_id' });
      return endThis(session, discard);
    },
    isOpen: async (keyId, name) => {
      await view.reachEnd();
      const session = findNamed(keyId, name);
      return session !== undefined && session.ended === undefined;
    },
    list: async (keyId) => {
      await catchUp();
      return view.list(keyId);
    },
  };
}
