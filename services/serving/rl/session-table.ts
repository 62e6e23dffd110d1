import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { SessionEnded } from '../../../shared/events/session-ended.ts';
import type { SessionStarted } from '../../../shared/events/session-started.ts';
import type { Heading } from '../../../shared/log/event-log.ts';
import { createEndedRows } from './ended-rows.ts';

/** One session of the session protocol, as far as the log tells. */
export type Session = {
  readonly session: string;
  readonly lane: string;
  /** of the access key that opened it */
  readonly keyId: string;
  /** id of the session key that speaks for it */
  readonly sessionKey: string;
  readonly task: string | undefined;
  /** that answers in it, and learns from it */
  readonly adapter: string;
  readonly startedAt: string;
  /** Undefined while it is open. Superseded: its key speaks for a later one, and nobody ended this one. */
  readonly ended: { readonly at: string; readonly reason: 'explicit' | 'idle' | 'superseded' } | undefined;
  readonly interactions: number;
  /** The last answer that a reward can train. */
  readonly last: string | undefined;
  readonly has: (interactionId: string) => boolean;
  /** by interaction; the last one counts */
  readonly rewards: ReadonlyMap<string, number>;
};

export type SessionTable = {
  /** Takes a fact in, once: it may come from this process and then from the log. */
  readonly apply: (event: ClawLoopEvent) => void;
  /**
   * Whether a record is to be parsed. While the log is `skimmed`, answers are only noted: most are of
   * sessions that ended long ago.
   */
  readonly wants: (heading: Heading, skimmed: boolean) => boolean;
  /** Where an answer of an open session stands that was only noted, in their order. */
  readonly nextUnread: () => Position | undefined;
  /** What stands there, which is noted no more; undefined: it is gone. */
  readonly read: (at: Position, event: ClawLoopEvent | undefined) => void;
  /** The session that a session key speaks for, or spoke for last; undefined: none, or long ago. */
  readonly of: (sessionKey: string) => Session | undefined;
  readonly inLane: (lane: string) => Session | undefined;
  readonly openCount: () => number;
  readonly open: () => readonly OpenRow[];
  /** Those that ended from then on, ms since 1970, with something in them that may train. */
  readonly endedSince: (time: number) => readonly EndedRow[];
  /** Answers of a session: the mean of the latest ones that ended with any. */
  readonly usualAnswers: () => number;
  /** Latest first. */
  readonly list: (keyId: string) => readonly Session[];
};

/** An open session without what is said of it. */
export type OpenRow = Pick<Session, 'session' | 'keyId' | 'task' | 'adapter' | 'interactions'> & {
  readonly rewarded: boolean;
  /** policy version of its first answer; undefined: none yet */
  readonly oldest: number | undefined;
  /** ms since 1970 */
  readonly startedAt: number;
  readonly heardAt: number;
};

export type EndedRow = Pick<Session, 'session' | 'keyId' | 'adapter'> & { readonly answers: number };

type Row = {
  readonly fixed: Pick<
    Session,
    'session' | 'lane' | 'keyId' | 'sessionKey' | 'task' | 'adapter' | 'startedAt'
  >;
  /** ids; emptied at the end */
  readonly answers: Set<string>;
  last: string | undefined;
  /** policy version of the first answer */
  oldest: number | undefined;
  readonly rewards: Map<string, number>;
  unread: Position[];
  /** answers, once it ended */
  counted: number | undefined;
  ended: Session['ended'];
  isDiscarded: boolean;
  /** id of the latest event; undefined: it was only noted */
  latest: string | undefined;
  /** ms since 1970, of the latest event that was read */
  latestAt: number;
};

/**
 * The collector's sweeper names the last event that it saw. What a client's timers sent since (heartbeats)
 * keeps no session open there, so an end counts too where nothing was heard for so long, ms.
 */
const QUIET_MS = 60_000;

const types: ReadonlySet<string> = new Set([
  'session.started',
  'session.ended',
  'interaction.completed',
  'feedback.given',
]);

/** Rewards of a session that are listed, the latest ones. */
const MOST_REWARDS = 1_000;
/** Sessions whose answers are averaged. */
const USUAL_OF = 20;
/** Answers that a session is taken to have before any has ended. */
const FIRST_GUESS = 3;

type TableOptions = {
  readonly most?: number;
  /** the session key whose sessions alone are looked at; all unless told */
  readonly only?: string;
};

/**
 * Sessions as a fold of `conversations`, in memory: the open ones, and of those that ended the latest `most`.
 * Of others nothing is known, and no key speaks for one that is open: a key goes out when its session stands
 * in the log.
 */
export function createSessionTable({ most = 1_000, only }: TableOptions = {}): SessionTable {
  const byLane = new Map<string, Row>();
  const byKey = new Map<string, Row>();
  const ended = createEndedRows<Row>(most);
  /** with answers that were only noted */
  const noted = new Set<Row>();

  /** of the latest that ended */
  const lengths: number[] = [];

  const leave = (row: Row, how: NonNullable<Session['ended']>) => {
    row.ended = how;
    const oldest = ended.add(row);
    if (oldest === undefined) return;
    noted.delete(oldest);
    byLane.delete(oldest.fixed.lane);
    if (byKey.get(oldest.fixed.sessionKey) === oldest) byKey.delete(oldest.fixed.sessionKey);
  };

  const onStarted = ({ id, time, data }: SessionStarted) => {
    const { lane, key: keyId, session, sessionKey, task, adapter = 'default' } = data;
    if (sessionKey === undefined || byLane.has(lane)) return;
    if (only !== undefined && sessionKey !== only) return;
    const row: Row = {
      fixed: { session, lane, keyId, sessionKey, task, adapter, startedAt: time },
      ...{ answers: new Set(), last: undefined, oldest: undefined, rewards: new Map(), unread: [] },
      ...{ counted: undefined, ended: undefined, isDiscarded: false, latest: id, latestAt: Date.parse(time) },
    };
    byLane.set(lane, row);
    const other = byKey.get(sessionKey);
    const older = other === undefined ? undefined : isLater(other, row) ? row : other;
    if (other === undefined || older === other) byKey.set(sessionKey, row);
    if (older !== undefined && older.ended === undefined) leave(older, { at: time, reason: 'superseded' });
  };

  const onCompleted = (row: Row, { id, time, data }: InteractionCompleted) => {
    if (isForeign(row, data) || isOver(row) || data.settle !== 'reward' || !data.live) return;
    const isCut = data.disconnected || data.finishReason === 'aborted' || data.finishReason === 'error';
    const canTrain = !isCut && !data.tooLarge && data.turnType !== 'side';
    if (!row.answers.has(id) && canTrain) row.last = id;
    row.answers.add(id);
    row.oldest ??= data.version;
    heard(row, id, time);
  };

  const onFeedback = (row: Row, { id, time, data }: FeedbackGiven) => {
    if (isForeign(row, data) || isOver(row)) return;
    row.rewards.delete(data.interactionId);
    row.rewards.set(data.interactionId, data.score);
    if (row.rewards.size > MOST_REWARDS) row.rewards.delete(row.rewards.keys().next().value!);
    heard(row, id, time);
  };

  const onEnded = (row: Row, { time, data }: SessionEnded) => {
    if (isForeign(row, data) || isOver(row)) return;
    if (data.reason === 'idle' && isOutOfDate(row, data.last, time)) return;
    row.counted = data.interactions ?? row.answers.size + row.unread.length;
    row.isDiscarded = data.discard === true;
    if (row.counted > 0 && !row.isDiscarded) lengths.push(row.counted);
    if (lengths.length > USUAL_OF) lengths.shift();
    row.unread = [];
    row.answers.clear();
    noted.delete(row);
    leave(row, { at: time, reason: data.reason });
  };

  const apply = (event: ClawLoopEvent): void => {
    const row = byLane.get(event.subject);
    if (event.type === 'session.started') onStarted(event);
    else if (row === undefined) return;
    else if (event.type === 'interaction.completed') onCompleted(row, event);
    else if (event.type === 'feedback.given') onFeedback(row, event);
    else if (event.type === 'session.ended') onEnded(row, event);
  };

  return {
    apply,
    wants: ({ type, subject, at }, skimmed) => {
      if (!types.has(type)) return false;
      if (type === 'session.started') return true;
      const row = byLane.get(subject);
      if (row === undefined) return false;
      if (type !== 'interaction.completed' || !skimmed) return true;
      row.latest = undefined;
      if (isOver(row)) return false;
      row.unread.push(at);
      noted.add(row);
      return false;
    },
    nextUnread: () => {
      const [row] = noted;
      return row?.unread[0];
    },
    read: (at, event) => {
      for (const row of noted) {
        if (row.unread[0] !== at) continue;
        row.unread.shift();
        if (row.unread.length === 0) noted.delete(row);
        break;
      }
      if (event !== undefined) apply(event);
    },
    of: (sessionKey) => shown(byKey.get(sessionKey)),
    inLane: (lane) => shown(byLane.get(lane)),
    openCount: () => byLane.size - ended.size(),
    open: () =>
      [...byLane.values()]
        .filter((row) => row.ended === undefined)
        .map(({ fixed, answers, unread, oldest, rewards, latestAt }) => ({
          ...{ session: fixed.session, keyId: fixed.keyId, task: fixed.task, adapter: fixed.adapter, oldest },
          ...{ startedAt: Date.parse(fixed.startedAt), heardAt: latestAt },
          ...{ interactions: answers.size + unread.length, rewarded: rewards.size > 0 },
        })),
    endedSince: (time) =>
      ended
        .all()
        .flatMap(({ fixed, ended: end, counted, isDiscarded }) =>
          end !== undefined && Date.parse(end.at) >= time && counted !== 0 && !isDiscarded
            ? [{ ...pick(fixed), answers: counted ?? 1 }]
            : [],
        ),
    usualAnswers: () =>
      lengths.length === 0 ? FIRST_GUESS : lengths.reduce((sum, one) => sum + one, 0) / lengths.length,
    list: (keyId) =>
      [...byLane.values()]
        .filter(({ fixed }) => fixed.keyId === keyId)
        .map((row) => shown(row)!)
        .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1)),
  };
}

const pick = ({ session, keyId, adapter }: Row['fixed']) => ({ session, keyId, adapter });

function heard(row: Row, id: string, time: string): void {
  row.latest = id;
  row.latestAt = Math.max(row.latestAt, Date.parse(time));
}

/** A fact of another access key: its lane is no proof, since its ids show it, and 48 bits can be searched. */
const isForeign = ({ fixed }: Row, { key }: { readonly key: string }): boolean => key !== fixed.keyId;

/** The end of one that was superseded may be still to come, from another partition. */
const isOver = ({ ended }: Row): boolean => ended !== undefined && ended.reason !== 'superseded';

const isOutOfDate = (row: Row, last: string | undefined, time: string): boolean =>
  row.latest !== undefined && row.latest !== last && Date.parse(time) - row.latestAt < QUIET_MS;

/** A refresh begins later than what it follows, on whatever replica; so sessions of one key have an order. */
const isLater = ({ fixed: a }: Row, { fixed: b }: Row): boolean =>
  a.startedAt === b.startedAt ? a.session > b.session : Date.parse(a.startedAt) > Date.parse(b.startedAt);

function shown(row: Row | undefined): Session | undefined {
  if (row === undefined) return undefined;
  const { fixed, answers, last, unread, counted, ended, rewards } = row;
  return {
    ...fixed,
    ended,
    interactions: counted ?? answers.size + unread.length,
    last,
    has: (id) => answers.has(id),
    rewards,
  };
}
