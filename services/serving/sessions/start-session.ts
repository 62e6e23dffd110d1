import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { ServingError } from '../errors.ts';
import type { SessionKey } from '../http/session-key.ts';
import { type OccupancyOptions, occupancyFor } from './occupancy.ts';
import { hasLessThanItsShare, lackOfRoom, type RoomLimits } from './room.ts';
import { type SessionTerms, sessionStarted } from './session-events.ts';
import { RETRY_SECONDS, type RecordOptions, type SessionRecords } from './session-records.ts';
import type { Session } from './session-row.ts';
import type { SessionView } from './session-view.ts';
import type { StepVotes } from './step-votes.ts';

/** Who starts a session, and with which adapter. */
export type Starter = {
  readonly keyId: string;
  /** Undefined: that of the previous session if the key may still use it, else the first of `adapters`. */
  readonly adapter?: string | undefined;
  /** adapters that the key may use */
  readonly adapters: readonly string[];
};

export type StartOptions = RecordOptions &
  OccupancyOptions & {
    readonly view: SessionView;
    /** Rejects if the log does not store the events. */
    readonly append: (events: readonly ClawLoopEvent[]) => Promise<void>;
    readonly limits: RoomLimits;
    /** Waits until all samples that are in the log now are counted. */
    readonly countOn: () => Promise<void>;
    readonly votes: StepVotes;
  };

/** A session to start, which replaces `old` if its key has an open session. */
type Candidate = {
  readonly adapter: string;
  readonly keyId: string;
  readonly task: string;
  readonly old: Session | undefined;
};

type StartRequest = {
  readonly starter: Starter;
  readonly task: string | undefined;
  readonly terms: SessionTerms;
  readonly key: SessionKey;
  /** the previous session of the key, if only the log knows it */
  readonly forgotten: Session | undefined;
};

/** Task of a session whose previous session is unknown. */
const NO_TASK = 'task';
/** A training step may finish within this time. */
const ROOM_RETRY_SECONDS = 1;

/** Starts sessions, if there is room for them. */
export function createSessionStart(options: StartOptions, records: SessionRecords) {
  const { view, recorder, append, limits, countOn, now } = options;

  /** A key with less than its share of the room may start a session even if others left no room. */
  const lackFor = ({ adapter, keyId, task, old }: Candidate): 'sessions' | 'staleness' | undefined => {
    const { room, own, ownOpen } = occupancyFor(options, adapter, keyId, old);
    if (ownOpen >= limits.maxSessions) return 'sessions';
    const beginning = {
      task,
      ...defined({ ending: old?.adapter === adapter ? old.interactions : undefined }),
    };
    const lack = lackOfRoom({ ...limits, maxSessions: Number.POSITIVE_INFINITY }, room, beginning);
    return lack === 'staleness' && hasLessThanItsShare(limits, own, room.usual) ? undefined : lack;
  };
  const refuseWithoutRoom = async (candidate: Candidate): Promise<void> => {
    if (lackFor(candidate) === undefined) return;
    await countOn();
    const lack = lackFor(candidate);
    if (lack === 'sessions')
      throw ServingError.TOO_MANY_SESSIONS({ most: limits.maxSessions, retryAfterSeconds: RETRY_SECONDS });
    if (lack === 'staleness') throw ServingError.TRAINING_BEHIND({ retryAfterSeconds: ROOM_RETRY_SECONDS });
  };
  return {
    /** The previous session of a refreshed key, if its task or adapter is needed and only the log knows it. */
    lookBack: async (
      { adapter, adapters }: Starter,
      task: string | undefined,
      refreshed: SessionKey | undefined,
    ): Promise<Session | undefined> => {
      const isComplete = task !== undefined && (adapter !== undefined || adapters.length === 1);
      if (refreshed === undefined || isComplete) return undefined;
      if ((await records.find(refreshed.id)) !== undefined) return undefined;
      return view.lookUp(refreshed.id, refreshed.keyId);
    },
    start: async ({ starter, task: requestedTask, terms, key, forgotten }: StartRequest) => {
      const { keyId, adapters } = starter;
      // the log is unavailable: events of the previous session would follow those of the new one
      if (recorder.outboxDepth() > 0) throw ServingError.NOT_RECORDED({ retryAfterSeconds: RETRY_SECONDS });
      const previous = await records.find(key.id);
      const last = previous ?? forgotten;
      const task = requestedTask ?? last?.task ?? NO_TASK;
      const adapter = starter.adapter ?? adapters.find((name) => name === last?.adapter) ?? adapters[0]!;
      const open = previous?.ended === undefined ? previous : undefined;
      await refuseWithoutRoom({ adapter, keyId, task, old: open });
      if (open !== undefined) await records.end(open, false);
      const earliest = previous === undefined ? 0 : Date.parse(previous.startedAt) + 1;
      const begun = { keyId, sessionKey: key.id, adapter, task, terms };
      const event = sessionStarted(begun, Math.max(now(), earliest));
      await append([event]).catch(() => {
        throw ServingError.NOT_RECORDED({ retryAfterSeconds: RETRY_SECONDS });
      });
      view.apply(event);
      return { session: event.data.session, key };
    },
  };
}
