import { randomBytes } from 'node:crypto';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import type { RewardedSession } from '../chat/answer.ts';
import { laneOf } from '../chat/lane.ts';
import { ServingError } from '../errors.ts';
import { createInTurn } from '../in-turn.ts';
import type { Recorder } from '../record/recorder.ts';
import { occupancyFor } from './occupancy.ts';
import { hasLessThanItsShare, lackOfRoom, type RoomLimits } from './room.ts';
import { newSessionKey, type SessionKey } from './session-key.ts';
import type { Session } from './session-table.ts';
import type { SessionView } from './session-view.ts';
import type { WaitingSamples } from './waiting-samples.ts';

/** What a session came to: the same however often it is asked. */
export type EndedSession = { readonly session: string; readonly interactions: number };

export type Reward = {
  readonly score: number;
  readonly interactionId: string | undefined;
  readonly advantage: number | undefined;
};

/** Who opens a session, and which adapter answers in it. */
type Starting = {
  readonly keyId: string;
  /** Undefined: the one of the session before, where the key may ask it still, else the first of `adapters`. */
  readonly adapter?: string | undefined;
  /** those that the key may ask */
  readonly adapters: readonly string[];
};

/** A session that is to begin, in the place of `old` where its key has an open one. */
type Beginner = {
  readonly adapter: string;
  readonly keyId: string;
  readonly task: string;
  readonly old: Session | undefined;
};

/** The session protocol: sessions that programs open, reward and end. */
export type Sessions = {
  /**
   * Opens a session: under a new key, or under one that exists, whose open session ends first. Where there is
   * no room nothing changes.
   *
   * @param task that of the key's last session unless told
   * @throws ServingError TOO_MANY_SESSIONS, TRAINING_BEHIND, NOT_RECORDED, SESSIONS_UNREAD
   */
  readonly start: (
    caller: Starting,
    task: string | undefined,
    refreshed: SessionKey | undefined,
  ) => Promise<{ readonly session: string; readonly key: SessionKey }>;
  /** The open session that a key speaks for. @throws ServingError SESSION_ENDED, SESSIONS_UNREAD */
  readonly speaking: (sessionKey: string) => Promise<Session>;
  /** What an answer of an open session does to it. */
  readonly rewarded: (session: Session) => RewardedSession;
  /**
   * Rewards an answer, the last one unless told; until the end, again and again.
   * @returns the id of the rewarded answer
   * @throws ServingError NOTHING_TO_REWARD, INTERACTION_NOT_FOUND, NOT_RECORDED, and those of `speaking`
   */
  readonly reward: (
    sessionKey: string,
    reward: Reward,
  ) => Promise<{ readonly session: string; readonly interactionId: string }>;
  /**
   * Ends the session of a key. One that nobody rewarded has earned 0; one that is discarded trains nobody.
   * @throws ServingError NOT_RECORDED, SESSION_ENDED, SESSIONS_UNREAD
   */
  readonly end: (sessionKey: string, discard: boolean) => Promise<EndedSession>;
  /**
   * The same for who opened it and lost its key.
   * @throws ServingError SESSION_NOT_FOUND, NOT_RECORDED, SESSIONS_UNREAD
   */
  readonly endNamed: (keyId: string, session: string, discard: boolean) => Promise<EndedSession>;
  /** Whether there is an open session of that name, and it is one of the session protocol. */
  readonly isOpen: (keyId: string, session: string) => Promise<boolean>;
  /** Those that an access key opened, open ones and the latest that ended, latest first. */
  readonly list: (keyId: string) => Promise<readonly Session[]>;
};

type Options = {
  readonly view: SessionView;
  readonly recorder: Pick<Recorder, 'record' | 'outboxDepth'>;
  /** Rejects where the log does not take it. */
  readonly append: (events: readonly ClawLoopEvent[]) => Promise<void>;
  readonly limits: RoomLimits;
  readonly samplesOf: (adapter: string) => Omit<WaitingSamples, 'on'>;
  /** Waits until the samples of the log as of now are counted. */
  readonly countOn: () => Promise<void>;
  /** ms since 1970 */
  readonly now: () => number;
};

const source = 'clawloop/serving';
const RETRY_SECONDS = 5;
/** of a session that follows one whose task is not known any more */
const NO_TASK = 'task';
/** A step may be over in less than that. */
const ROOM_RETRY_SECONDS = 1;

export function openSessions(options: Options): Sessions {
  const { view, recorder, append, limits, countOn, now } = options;
  const inTurn = createInTurn();
  const time = () => new Date(now()).toISOString();

  const record = async (event: ClawLoopEvent): Promise<void> => {
    if (!(await recorder.record(event)))
      throw ServingError.NOT_RECORDED({ retryAfterSeconds: RETRY_SECONDS });
    view.apply(event);
  };

  /** What a key spoke for last. @throws where it cannot be told whether there is something */
  const find = async (sessionKey: string): Promise<Session | undefined> => {
    const reached = await view.reachEnd();
    const found = view.of(sessionKey);
    if (!view.isCaughtUp() || (found === undefined && !reached))
      throw ServingError.SESSIONS_UNREAD({ retryAfterSeconds: RETRY_SECONDS });
    return found;
  };
  const speaking = async (sessionKey: string): Promise<Session> => {
    const found = await find(sessionKey);
    // A key goes out when its session stands in the log: one that is not known there ended long ago.
    if (found === undefined || found.ended !== undefined) throw ServingError.SESSION_ENDED();
    return found;
  };

  const feedback = (
    { session, lane, keyId }: Session,
    name: string,
    data: { score: number; interactionId: string; advantage?: number; last?: true },
  ) =>
    FeedbackGiven.create({
      ...{ id: `${session}/${name}`, source, time: time() },
      data: { ...data, lane, key: keyId },
    });

  /** The names of the facts are the same at every try. */
  const endNow = async (open: Session, discard: boolean): Promise<EndedSession> => {
    const { session, lane, keyId, interactions, last, rewards } = open;
    if (!discard && rewards.size === 0 && last !== undefined)
      await record(feedback(open, 'reward/none', { score: 0, interactionId: last, last: true }));
    const data = {
      ...{ lane, key: keyId, session, reason: 'explicit' as const, interactions },
      ...(discard ? { discard } : {}),
    };
    await record(SessionEnded.create({ id: `${session}/ended`, source, time: time(), data }));
    return { session, interactions };
  };

  /** A key that has less than its share of the room begins though others have left none. */
  const lackFor = (starting: Beginner): 'sessions' | 'staleness' | undefined => {
    const { adapter, keyId, task, old } = starting;
    const { room, own, ownOpen } = occupancyFor(options, adapter, keyId, old);
    if (ownOpen >= limits.maxSessions) return 'sessions';
    const beginning = { task, ...(old?.adapter === adapter ? { ending: old.interactions } : {}) };
    const lack = lackOfRoom({ ...limits, maxSessions: Number.POSITIVE_INFINITY }, room, beginning);
    return lack === 'staleness' && hasLessThanItsShare(limits, own, room.usual) ? undefined : lack;
  };
  const makeRoom = async (beginner: Beginner): Promise<void> => {
    if (lackFor(beginner) === undefined) return;
    await countOn();
    const lack = lackFor(beginner);
    if (lack === 'sessions')
      throw ServingError.TOO_MANY_SESSIONS({ most: limits.maxSessions, retryAfterSeconds: RETRY_SECONDS });
    if (lack === 'staleness') throw ServingError.TRAINING_BEHIND({ retryAfterSeconds: ROOM_RETRY_SECONDS });
  };
  /** The one before, of which task or adapter are needed, where it is known no more but to the log. */
  const lookBack = async (
    { adapter, adapters }: Starting,
    task: string | undefined,
    refreshed: SessionKey | undefined,
  ): Promise<Session | undefined> => {
    const isTold = task !== undefined && (adapter !== undefined || adapters.length === 1);
    if (refreshed === undefined || isTold || (await find(refreshed.id)) !== undefined) return undefined;
    return view.lookUp(refreshed.id, refreshed.keyId);
  };
  const startNow = async (
    caller: Starting,
    told: string | undefined,
    key: SessionKey,
    forgotten: Session | undefined,
  ) => {
    const { keyId, adapters } = caller;
    // the log is away, and what ended before would stand behind what begins
    if (recorder.outboxDepth() > 0) throw ServingError.NOT_RECORDED({ retryAfterSeconds: RETRY_SECONDS });
    const before = await find(key.id);
    const last = before ?? forgotten;
    const task = told ?? last?.task ?? NO_TASK;
    const adapter = caller.adapter ?? adapters.find((name) => name === last?.adapter) ?? adapters[0]!;
    const open = before?.ended === undefined ? before : undefined;
    await makeRoom({ adapter, keyId, task, old: open });
    if (open !== undefined) await endNow(open, false);
    const session = `${task}-${randomBytes(8).toString('hex')}`;
    const after = before === undefined ? 0 : Date.parse(before.startedAt) + 1;
    const event = SessionStarted.create({
      ...{ id: `${session}/started`, source, time: new Date(Math.max(now(), after)).toISOString() },
      data: {
        ...{ lane: laneOf(keyId, session), key: keyId, session, adapter },
        ...{ settle: 'reward' as const, sessionKey: key.id, task },
      },
    });
    await append([event]).catch(() => {
      throw ServingError.NOT_RECORDED({ retryAfterSeconds: RETRY_SECONDS });
    });
    view.apply(event);
    return { session, key };
  };

  const end = (sessionKey: string, discard: boolean): Promise<EndedSession> =>
    inTurn(sessionKey, async () => {
      const found = (await find(sessionKey)) ?? (await view.lookUp(sessionKey));
      if (found === undefined) throw ServingError.SESSION_ENDED();
      return found.ended === undefined ? await endNow(found, discard) : found;
    });
  /** This one and no other, whatever its key speaks for by now. */
  const endThis = (session: Session, discard: boolean): Promise<EndedSession> =>
    inTurn(session.sessionKey, async () => {
      const now = view.inLane(session.lane) ?? session;
      return now.ended === undefined ? await endNow(now, discard) : now;
    });

  /** Two names may have the same lane, since it is a short hash. */
  const ofThisKey = (keyId: string, session: string): Session | undefined => {
    const found = view.inLane(laneOf(keyId, session));
    return found?.keyId === keyId && found.session === session ? found : undefined;
  };
  const readOn = async (): Promise<void> => {
    await view.reachEnd();
    if (!view.isCaughtUp()) throw ServingError.SESSIONS_UNREAD({ retryAfterSeconds: RETRY_SECONDS });
  };

  return {
    start: (caller, task, refreshed) => {
      const key = refreshed ?? newSessionKey(caller.keyId);
      return inTurn(key.id, async () => {
        const forgotten = await lookBack(caller, task, refreshed); // takes long: others begin meanwhile
        const start = () => startNow(caller, task, key, forgotten);
        // one of each access key stands in line, so that nobody waits for all that another one starts
        return inTurn(`starts of ${caller.keyId}`, () => inTurn('start', start));
      });
    },
    speaking,
    rewarded: (session) => ({
      answered: view.apply,
      // the answer is whole without it, and the session ends when it is idle
      end: () => endThis(session, false).catch(() => undefined),
    }),
    reward: (sessionKey, { score, interactionId, advantage }) =>
      inTurn(sessionKey, async () => {
        const open = await speaking(sessionKey);
        const id = interactionId ?? open.last;
        if (id === undefined) throw ServingError.NOTHING_TO_REWARD();
        if (!open.has(id)) throw ServingError.INTERACTION_NOT_FOUND({ id, param: 'interaction_id' });
        const data = {
          ...{ score, interactionId: id },
          ...(advantage === undefined ? {} : { advantage }),
          ...(interactionId === undefined ? { last: true as const } : {}),
        };
        await record(feedback(open, `reward/${randomBytes(8).toString('hex')}`, data));
        return { session: open.session, interactionId: id };
      }),
    end,
    endNamed: async (keyId, session, discard) => {
      await readOn();
      const found = ofThisKey(keyId, session);
      if (found === undefined) throw ServingError.SESSION_NOT_FOUND({ session, param: 'session_id' });
      return endThis(found, discard);
    },
    isOpen: async (keyId, session) => {
      await view.reachEnd();
      const found = ofThisKey(keyId, session);
      return found !== undefined && found.ended === undefined;
    },
    list: async (keyId) => {
      await readOn();
      return view.list(keyId);
    },
  };
}
