import type { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { ProcessTerms } from '../../../shared/events/process-terms.ts';
import type { SessionEnded } from '../../../shared/events/session-ended.ts';
import type { SessionStarted } from '../../../shared/events/session-started.ts';
import {
  addGuardedChoices,
  type GuardedChoices,
  guardedChoicesOf,
  noGuardedChoices,
} from './guarded-choices.ts';
import { type SessionStep, type StepNode, sessionSteps, stepNode } from './session-steps.ts';

/** One session of the session protocol, as far as the log has been read. */
export type Session = {
  readonly session: string;
  readonly lane: string;
  /** id of the access key that opened the session */
  readonly keyId: string;
  /** id of the session key */
  readonly sessionKey: string;
  readonly task: string | undefined;
  /** adapter that answers in the session, and learns from it */
  readonly adapter: string;
  /** how the judge votes on its steps; undefined: it does not */
  readonly process: ProcessTerms | undefined;
  readonly startedAt: string;
  /** Undefined while the session is open. Superseded: its key has a later session, and this one was not ended. */
  readonly ended: { readonly at: string; readonly reason: 'explicit' | 'idle' | 'superseded' } | undefined;
  readonly interactions: number;
  /** The last answer that a reward can train. */
  readonly last: string | undefined;
  readonly has: (interactionId: string) => boolean;
  /** by interaction; the last reward counts */
  readonly rewards: ReadonlyMap<string, number>;
  readonly guarded: GuardedChoices;
  /** the answers that a reward can train, in order of arrival; empty when it has ended */
  readonly steps: () => readonly SessionStep[];
};

/** An open session, without its answers and rewards. */
export type OpenRow = Pick<Session, 'session' | 'keyId' | 'task' | 'adapter' | 'interactions'> & {
  readonly rewarded: boolean;
  /** policy version of its first answer; undefined: it has none */
  readonly oldest: number | undefined;
  /** ms since 1970 */
  readonly startedAt: number;
  /** ms since 1970, of the latest event */
  readonly heardAt: number;
};

export type EndedRow = Pick<Session, 'session' | 'keyId' | 'adapter'> & { readonly answers: number };

/** The mutable state of a session in the table. */
export type Row = {
  readonly fixed: Pick<
    Session,
    'session' | 'lane' | 'keyId' | 'sessionKey' | 'task' | 'adapter' | 'process' | 'startedAt'
  >;
  /** ids; emptied at the end */
  readonly answers: Set<string>;
  /** emptied at the end */
  readonly steps: StepNode[];
  last: string | undefined;
  /** policy version of the first answer */
  oldest: number | undefined;
  readonly rewards: Map<string, number>;
  guarded: GuardedChoices;
  unread: Position[];
  /** number of answers, once the session has ended */
  counted: number | undefined;
  ended: Session['ended'];
  isDiscarded: boolean;
  /** id of the latest event; undefined: only its heading was read */
  latest: string | undefined;
  /** ms since 1970, of the latest event that was read */
  latestAt: number;
};

/**
 * ms without events after which an idle end always counts. The collector names the last event that it saw; events of
 * client timers (heartbeats) after that do not keep the session open there.
 */
const QUIET_MS = 60_000;
/** Listed rewards of a session, the latest ones. */
const MOST_REWARDS = 1_000;

export function newRow({ id, time, data }: SessionStarted, sessionKey: string): Row {
  const { lane, key: keyId, session, task, adapter = 'default', process } = data;
  return {
    fixed: { session, lane, keyId, sessionKey, task, adapter, process, startedAt: time },
    answers: new Set(),
    steps: [],
    last: undefined,
    oldest: undefined,
    rewards: new Map(),
    guarded: noGuardedChoices,
    unread: [],
    counted: undefined,
    ended: undefined,
    isDiscarded: false,
    latest: id,
    latestAt: Date.parse(time),
  };
}

export function applyCompleted(row: Row, event: InteractionCompleted): void {
  const { id, time, data } = event;
  if (isForeign(row, data) || isOver(row) || data.settle !== 'reward' || !data.live) return;
  const isCut = data.disconnected || data.finishReason === 'aborted' || data.finishReason === 'error';
  const canTrain = !isCut && !data.tooLarge && data.turnType !== 'side';
  if (!row.answers.has(id)) row.guarded = addGuardedChoices(row.guarded, guardedChoicesOf(data.tokens));
  if (!row.answers.has(id) && canTrain) {
    row.last = id;
    row.steps.push(stepNode(event, row.steps));
  }
  row.answers.add(id);
  row.oldest ??= data.version;
  noteEvent(row, id, time);
}

export function applyFeedback(row: Row, { id, time, data }: FeedbackGiven): void {
  if (isForeign(row, data) || isOver(row)) return;
  row.rewards.delete(data.interactionId);
  row.rewards.set(data.interactionId, data.score);
  if (row.rewards.size > MOST_REWARDS) row.rewards.delete(row.rewards.keys().next().value!);
  noteEvent(row, id, time);
}

/** Whether an end of a session changes its row. */
export const endsRow = (row: Row, { time, data }: SessionEnded): boolean =>
  !isForeign(row, data) && !isOver(row) && !(data.reason === 'idle' && isOutOfDate(row, data.last, time));

function noteEvent(row: Row, id: string, time: string): void {
  row.latest = id;
  row.latestAt = Math.max(row.latestAt, Date.parse(time));
}

/** Whether an event belongs to another access key. Ids reveal lanes, and 48 bits can be searched, so lanes prove nothing. */
const isForeign = ({ fixed }: Row, { key }: { readonly key: string }): boolean => key !== fixed.keyId;

/** The end of a superseded session may still arrive, from another partition. */
export const isOver = ({ ended }: Row): boolean => ended !== undefined && ended.reason !== 'superseded';

const isOutOfDate = (row: Row, last: string | undefined, time: string): boolean =>
  row.latest !== undefined && row.latest !== last && Date.parse(time) - row.latestAt < QUIET_MS;

/** Sessions of one key have an order, because a refreshed session starts later than the previous one on any replica. */
export const isLater = ({ fixed: a }: Row, { fixed: b }: Row): boolean =>
  a.startedAt === b.startedAt ? a.session > b.session : Date.parse(a.startedAt) > Date.parse(b.startedAt);

export function sessionOf(row: Row): Session {
  const { fixed, answers, steps, last, unread, counted, ended, rewards, guarded } = row;
  return {
    ...fixed,
    ended,
    interactions: counted ?? answers.size + unread.length,
    last,
    has: (id) => answers.has(id),
    rewards,
    guarded,
    steps: () => sessionSteps(steps),
  };
}

export const openRowOf = ({ fixed, answers, unread, oldest, rewards, latestAt }: Row): OpenRow => ({
  session: fixed.session,
  keyId: fixed.keyId,
  task: fixed.task,
  adapter: fixed.adapter,
  oldest,
  startedAt: Date.parse(fixed.startedAt),
  heardAt: latestAt,
  interactions: answers.size + unread.length,
  rewarded: rewards.size > 0,
});

/** Undefined: the session ended before, or has nothing that may train. */
export function endedRowOf({ fixed, ended, counted, isDiscarded }: Row, since: number): EndedRow | undefined {
  if (ended === undefined || Date.parse(ended.at) < since || counted === 0 || isDiscarded) return undefined;
  return { session: fixed.session, keyId: fixed.keyId, adapter: fixed.adapter, answers: counted ?? 1 };
}
