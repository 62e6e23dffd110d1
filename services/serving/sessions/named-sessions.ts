import type { SessionClosed } from '../../../shared/events/session-closed.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog, Heading, Offsets } from '../../../shared/log/event-log.ts';
import { createReachEnd } from '../reach-end.ts';
import { laneOf } from './lane.ts';

/** Reads the lane from the id of an answer that was given to a key. */
type AnswerLanes = { readonly laneOf: (answerId: string, keyId: string) => string | undefined };

/** Open sessions by access key and name, whether the client or the collector named them. */
export type NamedSessions = {
  /** Call this with each heading of `conversations`, in the order of its partition. */
  readonly note: (heading: Heading) => void;
  /**
   * The lanes in which a key has an open session of this name; []: there is none. While this is unknown, the lane in
   * which the session may be.
   */
  readonly lanesOf: (keyId: string, session: string) => Promise<readonly string[]>;
  /** How far `turns` is read, per partition. */
  readonly position: () => readonly number[];
  readonly isCaughtUp: () => boolean;
  /** To be stored: what `turns` says. */
  readonly opened: () => OpenedState;
  /** To be stored: what `conversations` says, the lanes separated by spaces. */
  readonly answered: () => string;
  /** Call this when the end of a session is recorded, before it is in the log. */
  readonly ended: (keyId: string, session: string) => void;
  /** Rejects if following the log fails. */
  readonly done: Promise<void>;
};

/** Lanes and epochs of open sessions. */
type OpenedState = readonly {
  readonly key: string;
  readonly session: string;
  readonly lane: string;
  readonly epoch: string;
}[];

type Options = {
  readonly log: Pick<EventLog, 'follow'>;
  readonly signal: AbortSignal;
  readonly ids: AnswerLanes;
  /** Waits until `note` has received everything that is in the log now; false: it took too long. */
  readonly reachEnd: () => Promise<boolean>;
  /** Number of recorded events that are not in the log yet. */
  readonly outboxDepth: () => number;
  /** limit of remembered lanes with an answer after the latest end; the oldest are dropped */
  readonly most?: number;
  readonly from?: {
    readonly offsets?: Offsets | undefined;
    readonly opened?: OpenedState | undefined;
    readonly answered?: string | undefined;
  };
};

const MOST_LANES = 2 ** 18;
const openingTypes: ReadonlySet<string> = new Set(['session.opened', 'session.closed']);

/**
 * A session that its client named has its own lane: it is open if the lane has an answer after the latest end, even
 * while the collector is behind. The events of the collector tell which other sessions are open, and where.
 */
export function followNamedSessions(options: Options): NamedSessions {
  const { log, signal, ids, reachEnd, outboxDepth, most = MOST_LANES, from = {} } = options;
  const answered = new Set(from.answered?.split(' ').filter(Boolean));
  const opened = createOpened();
  for (const one of from.opened ?? []) opened.add(one);
  let isCaughtUp = false;
  const following = log.follow(
    'turns',
    from.offsets ?? {},
    ({ event }) => {
      if (event.type === 'session.opened') opened.add(event.data);
      if (event.type === 'session.closed') opened.remove(event.data);
    },
    { signal, wants: openingTypes },
  );
  following.caughtUp.then(
    () => {
      isCaughtUp = true;
    },
    () => {}, // `done` reports the reason
  );
  const reachEndOfTurns = createReachEnd(() => Promise.all([following.caughtUp, following.reachEnd()]));

  return {
    note: ({ type, subject }) => {
      if (type === 'session.ended') answered.delete(subject);
      if (type !== 'interaction.completed') return;
      answered.delete(subject);
      answered.add(subject);
      if (answered.size > most) answered.delete(answered.values().next().value!);
    },
    lanesOf: async (keyId, session) => {
      const reached = await Promise.all([reachEnd(), reachEndOfTurns()]);
      const ownLane = laneOf(keyId, session);
      const others = opened.lanesOf(keyId, session).filter((lane) => lane !== ownLane);
      const lanes = answered.has(ownLane) ? [ownLane, ...others] : others;
      const isSure = reached.every(Boolean) && outboxDepth() === 0;
      if (lanes.length > 0 || isSure) return lanes;
      return [laneOfFirstAnswer(ids, keyId, session) ?? ownLane];
    },
    position: following.position,
    isCaughtUp: () => isCaughtUp,
    opened: opened.all,
    answered: () => [...answered].join(' '),
    ended: (keyId, session) => {
      answered.delete(laneOf(keyId, session));
      opened.forget(keyId, session);
    },
    done: following.done.catch((error: Error) => {
      if (!isLogError(error, 'NewerSchema')) throw error; // open sessions are then unknown
    }),
  };
}

/** A session without a name gets the id of its first answer, which contains the lane. */
const laneOfFirstAnswer = (ids: AnswerLanes, keyId: string, session: string): string | undefined =>
  session.startsWith('chat-') ? ids.laneOf(session.slice('chat-'.length), keyId) : undefined;

/** Lanes and their epochs, by access key and name. A name may have sessions in several lanes. */
function createOpened() {
  const sessions = new Map<string, Map<string, string>>();
  const nameOf = (keyId: string, session: string): string => JSON.stringify([keyId, session]);
  return {
    add: ({ key, session, lane, epoch }: OpenedState[number]): void => {
      const name = nameOf(key, session);
      sessions.set(name, (sessions.get(name) ?? new Map()).set(lane, epoch));
    },
    remove: ({ key, session, lane, epoch }: SessionClosed['data']): void => {
      const name = nameOf(key, session);
      const lanes = sessions.get(name);
      if (lanes?.get(lane) !== epoch) return;
      lanes.delete(lane);
      if (lanes.size === 0) sessions.delete(name);
    },
    forget: (key: string, session: string): boolean => sessions.delete(nameOf(key, session)),
    all: (): OpenedState =>
      [...sessions].flatMap(([name, lanes]) => {
        const [key, session] = JSON.parse(name) as readonly [string, string];
        return [...lanes].map(([lane, epoch]) => ({ key, session, lane, epoch }));
      }),
    lanesOf: (key: string, session: string): readonly string[] => [
      ...(sessions.get(nameOf(key, session))?.keys() ?? []),
    ],
  };
}
