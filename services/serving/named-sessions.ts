import type { SessionClosed } from '../../shared/events/session-closed.ts';
import type { SessionOpened } from '../../shared/events/session-opened.ts';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog, Heading } from '../../shared/log/event-log.ts';
import type { AnswerIds } from './chat/answer-ids.ts';
import { laneOf } from './chat/lane.ts';
import { createReachEnd } from './reach-end.ts';

/** The open sessions of each access key by their names, whether a client named them or the collector did. */
export type NamedSessions = {
  /** To be called with each heading of `conversations`, in the order of its partition. */
  readonly note: (heading: Heading) => void;
  /**
   * The lanes in which a key has an open session of this name; []: there is none. Where that cannot be told just
   * now it is the lane in which there may be one.
   */
  readonly lanesOf: (keyId: string, session: string) => Promise<readonly string[]>;
  /** Its end is recorded, so it is open no more, whatever the log says by now. */
  readonly ended: (keyId: string, session: string) => void;
  /** Rejects when the log cannot be followed any more. */
  readonly done: Promise<void>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow'>;
  readonly signal: AbortSignal;
  readonly ids: Pick<AnswerIds, 'laneOf'>;
  /** Waits until `note` has heard of all that stands in the log now; false: it has not. */
  readonly reachEnd: () => Promise<boolean>;
  /** Facts that are recorded and do not stand in the log yet. */
  readonly outboxDepth: () => number;
  /** lanes with an answer after the latest end that are remembered, the latest ones */
  readonly most?: number;
};

const MOST_LANES = 2 ** 18;
const told: ReadonlySet<string> = new Set(['session.opened', 'session.closed']);

/**
 * A session that its client named has a lane of its own: it is open when an answer stands there after the latest
 * end, also while the collector is behind. Of any other the collector tells that it was opened, and where.
 */
export function followNamedSessions(options: Options): NamedSessions {
  const { log, signal, ids, reachEnd, outboxDepth, most = MOST_LANES } = options;
  const answered = new Set<string>();
  const opened = createOpened();
  const following = log.follow(
    'turns',
    {},
    ({ event }) => {
      if (event.type === 'session.opened') opened.add(event.data);
      if (event.type === 'session.closed') opened.remove(event.data);
    },
    signal,
    ({ type }) => told.has(type),
  );
  following.caughtUp.catch(() => {}); // `done` tells why
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
      const own = laneOf(keyId, session);
      const others = opened.lanesOf(keyId, session).filter((lane) => lane !== own);
      const lanes = answered.has(own) ? [own, ...others] : others;
      const isSure = reached.every(Boolean) && outboxDepth() === 0;
      if (lanes.length > 0 || isSure) return lanes;
      return [laneOfFirstAnswer(ids, keyId, session) ?? own];
    },
    ended: (keyId, session) => {
      answered.delete(laneOf(keyId, session));
      opened.forget(keyId, session);
    },
    done: following.done.catch((error: Error) => {
      if (!isLogError(error, 'NewerSchema')) throw error; // it is not known then which sessions there are
    }),
  };
}

/** A session that nobody named has the name of its first answer, which knows its lane. */
const laneOfFirstAnswer = (
  ids: Pick<AnswerIds, 'laneOf'>,
  keyId: string,
  session: string,
): string | undefined =>
  session.startsWith('chat-') ? ids.laneOf(session.slice('chat-'.length), keyId) : undefined;

/** By access key and name: the lanes, and in each the epoch. Two lanes may have a session of one name. */
function createOpened() {
  const sessions = new Map<string, Map<string, string>>();
  const nameOf = (keyId: string, session: string): string => JSON.stringify([keyId, session]);
  return {
    add: ({ key, session, lane, epoch }: SessionOpened['data']): void => {
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
    lanesOf: (key: string, session: string): readonly string[] => [
      ...(sessions.get(nameOf(key, session))?.keys() ?? []),
    ],
  };
}
