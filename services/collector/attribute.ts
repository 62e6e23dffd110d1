import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { InteractionWithdrawn } from '../../shared/events/interaction-withdrawn.ts';
import type { LaneForgotten } from '../../shared/events/lane-forgotten.ts';
import type { ResponseDeleted } from '../../shared/events/response-deleted.ts';
import { SessionClosed } from '../../shared/events/session-closed.ts';
import type { SessionEnded } from '../../shared/events/session-ended.ts';
import type { SessionStarted } from '../../shared/events/session-started.ts';
import { TurnsForgotten } from '../../shared/events/turns-forgotten.ts';
import { clockAt, horizonOf, isTooLate, sweptClock } from '../../shared/log/event-clock.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openDraft } from '../../shared/log/rows.ts';
import { onDeleted } from './deletion.ts';
import { enterSession } from './enter-session.ts';
import { forget, forgetLane } from './forget.ts';
import { onInteraction } from './interaction.ts';
import { type LaneRow, laneTable, laneTables, type OpenTurn } from './lane-tables.ts';
import { forgetNodes, setReward } from './reward-nodes.ts';
import { updateSession } from './session.ts';
import { type SessionReturns, sessionReturns } from './session-returns.ts';
import { facts } from './source.ts';
import {
  type Cause,
  closeTold,
  completeEarly,
  completeTurn,
  skipTurn,
  tellFeedback,
  tellReturn,
  tellSkipped,
} from './turn-outcome.ts';

export type AttributeSettings = {
  /** of the returns along the conversation tree of a session that is settled by reward; 1 unless told */
  readonly turnDiscount?: number;
  /**
   * Feedback completes its turn at once, and so does another request in the place of its own. Absent: both wait
   * for the next state, as in logs of earlier programs.
   */
  readonly atOnce?: boolean;
  /**
   * A first request that a person changed and sent again belongs to the conversation of the one before. Absent: it
   * begins one, as in logs of earlier programs. Only with `atOnce`.
   */
  readonly firstEdits?: boolean;
  /**
   * The marks and prompts of agent programs beside OpenClaw are known, and an answer tells its session by itself.
   * Absent: neither, as in logs of earlier programs.
   */
  readonly clients?: boolean;
  /**
   * In a session that is settled by reward a request is main unless its program calls it side. Absent: the rules
   * by text hold there too, as in logs of earlier programs.
   */
  readonly rewardedAreMain?: boolean;
  /** Tells of each epoch of a session that it began. Absent: it does not, as in logs of earlier programs. */
  readonly tellsOpened?: boolean;
};

/** The other folds of the lane do not read its conversations. */
const turnsForgotten = (event: LaneForgotten) =>
  TurnsForgotten.create({
    ...facts(event),
    id: `${event.subject}/turns-forgotten/${event.data.last}`,
    data: { lane: event.subject, last: event.data.last, by: event.id },
  });

type Attributed =
  | InteractionCompleted
  | ResponseDeleted
  | InteractionWithdrawn
  | FeedbackGiven
  | SessionStarted
  | SessionEnded;

/**
 * Which session and turn an interaction belongs to, and which turns it completes. conversations -> turns.
 * State: one lane, split by access key; rows hold hashes and positions, bodies stay in the log.
 */
export const attribute: Fold<AttributeSettings | undefined> = {
  name: 'attribute',
  reads: 'conversations',
  writes: 'turns',
  on: (rows, event, at, settings) => {
    if (event.type === 'lane.forgotten') {
      const changes = forgetLane(rows, event);
      return { changes, emit: changes.length === 0 ? [] : [turnsForgotten(event)] };
    }
    if (!isAttributed(event)) return { changes: [], emit: [] };
    const draft = openDraft(rows);
    const clients = settings?.clients ?? false;
    const cause: Cause = { event, at, mine: laneTables(draft, event.data.key), clients, emit: [] };
    const time = Date.parse(event.time);
    const lanes = laneTable(draft);
    const before = lanes.get('now');
    const lane = clockAt(before, { time, recorded: event.recorded, moves: movesTime(event) });
    const horizon = horizonOf(lane);
    if (horizon !== undefined) forget(rows, draft, horizon);
    const after = horizon === undefined ? lane : sweptClock(lane, horizon);
    if (after !== before) lanes.set('now', after);
    if (!isKnown(cause, event)) react(cause, event, lane, settings ?? {});
    return { changes: draft.changes(), emit: cause.emit };
  },
};

const attributed: readonly ClawLoopEvent['type'][] = [
  ...(['interaction.completed', 'response.deleted', 'interaction.withdrawn', 'feedback.given'] as const),
  ...(['session.started', 'session.ended'] as const),
];
const isAttributed = (event: ClawLoopEvent): event is Attributed => attributed.includes(event.type);

/** A sweeper's timer and an operator tell no time of the lane: only what serving saw does. */
const movesTime = (event: Attributed) => !isIdleTimer(event) && event.type !== 'interaction.withdrawn';
const takesBack = ({ type }: Attributed) => type === 'response.deleted' || type === 'interaction.withdrawn';
const isIdleTimer = (event: Attributed) => event.type === 'session.ended' && event.data.reason === 'idle';

function isKnown({ mine }: Cause, event: Attributed): boolean {
  return event.type === 'interaction.completed'
    ? mine.turns.get(event.id) !== undefined
    : mine.seen.get(event.id) !== undefined;
}

function react(cause: Cause, event: Attributed, lane: LaneRow, settings: AttributeSettings): void {
  const { mine } = cause;
  const time = Date.parse(event.time);
  const { turnDiscount = 1, atOnce = false, firstEdits = false, clients = false } = settings;
  const { rewardedAreMain = false, tellsOpened = false } = settings;
  if (isTooLate(lane, time) && !isIdleTimer(event) && !takesBack(event)) {
    if (event.type === 'interaction.completed' && event.data.live)
      tellSkipped(cause, { turnId: event.id, reason: 'too-late' });
    return;
  }
  if (event.type !== 'interaction.completed' && !isIdleTimer(event)) mine.seen.set(event.id, time);
  switch (event.type) {
    case 'interaction.completed':
      onInteraction(cause, event, { atOnce, firstEdits, clients, rewardedAreMain, tellsOpened });
      break;
    case 'response.deleted':
    case 'interaction.withdrawn':
      onDeleted(cause, event, time);
      break;
    case 'feedback.given':
      onFeedback(cause, event, atOnce);
      break;
    case 'session.started':
      enterSession(cause, event, event.data.session, tellsOpened);
      break;
    case 'session.ended':
      onSessionEnded(cause, event, lane, turnDiscount);
  }
}

/**
 * Feedback may come before its interaction, which may still be in an outbox; never from another access key. It
 * waits for nothing: a person who rates the last answer says nothing after it.
 */
function onFeedback(cause: Cause, event: FeedbackGiven, atOnce: boolean): void {
  const { mine } = cause;
  const time = Date.parse(event.time);
  const { interactionId, score, advantage, comment, last } = event.data;
  const held = {
    ...{ given: event.id, score, time, order: cause.at.offset },
    ...(advantage === undefined ? {} : { advantage }),
    ...(comment === undefined ? {} : { comment }),
    ...(last ? { last } : {}),
  };
  const turn = mine.turns.get(interactionId);
  if (turn === undefined) {
    mine.early.set(interactionId, [...(mine.early.get(interactionId) ?? []), held]);
    return;
  }
  if (turn.session !== undefined && mine.sessions.get(turn.session)?.open)
    updateSession(mine, turn.session, { last: event.id });
  if (turn.session !== undefined && setReward(mine, turn.session, interactionId, held)) return;
  if (turn.status === 'done' || turn.told !== undefined) {
    tellFeedback(cause, interactionId, held);
    return;
  }
  const whole: OpenTurn = { ...turn, feedback: [...turn.feedback, held] };
  if (atOnce && turn.settle === 'votes') completeEarly(cause, interactionId, whole);
  else mine.turns.set(interactionId, whole);
}

/** An idle timer names the epoch and the last event that it saw; out of date, it ends nothing. */
function onSessionEnded(cause: Cause, event: SessionEnded, lane: LaneRow, discount: number): void {
  const { mine, emit } = cause;
  const { session, key, reason, epoch, last, discard = false } = event.data;
  const row = mine.sessions.get(session);
  if (!row?.open) return;
  if (reason === 'idle' && (row.epoch !== epoch || row.last !== last)) return;
  const returns = discard ? undefined : sessionReturns(mine, session, row.openTurns, discount);
  for (const id of row.openTurns) {
    const turn = mine.turns.get(id) as OpenTurn;
    if (turn.told !== undefined) closeTold(cause, id, turn);
    else if (discard) skipTurn(cause, id, turn, 'discarded');
    else if (turn.settle === 'reward') endRewardTurn(cause, id, turn, returns);
    else if (turn.feedback.length > 0) completeTurn(cause, id, turn, undefined);
    else skipTurn(cause, id, turn, 'no-next-state');
  }
  for (const one of returns?.kept ?? []) tellReturn(cause, one);
  forgetNodes(mine, session);
  updateSession(mine, session, { open: false, closedAt: lane.time });
  const data = {
    ...{ lane: event.subject, key, session, epoch: row.epoch, by: event.id },
    ...(discard ? { discard } : {}),
  };
  emit.push(SessionClosed.create({ ...facts(event), id: `${session}@${row.epoch}/closed`, data }));
}

/** What was not kept earns nothing: another answer to its request was gone on from, or rewarded. */
function endRewardTurn(cause: Cause, id: string, turn: OpenTurn, returns: SessionReturns | undefined): void {
  if (returns === undefined) skipTurn(cause, id, turn, 'no-reward');
  else if (returns.superseded.has(id)) skipTurn(cause, id, turn, 'superseded');
  else completeTurn(cause, id, turn, undefined);
}
