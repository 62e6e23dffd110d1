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
import { defined } from '../../shared/lang/defined.ts';
import { clockAt, horizonOf, isTooLate, sweptClock } from '../../shared/log/event-clock.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openDraft } from '../../shared/log/rows.ts';
import { onDeleted } from './deletion.ts';
import { enterSession } from './enter-session.ts';
import type { AttributeSettings } from './fold-settings.ts';
import { forget, forgetLane } from './forget.ts';
import { onInteraction } from './interaction.ts';
import { type LaneRow, laneTable, laneTables, type OpenTurn } from './lane-tables.ts';
import { forgetNodes, setReward } from './reward-nodes.ts';
import { updateSession } from './session.ts';
import { type SessionReturns, sessionReturns } from './session-returns.ts';
import { envelopeOf } from './source.ts';
import {
  type Cause,
  closeTurn,
  completeEarly,
  completeTurn,
  emitFeedback,
  emitReturn,
  emitSkipped,
  skipTurn,
} from './turn-outcome.ts';

/** Passes the forgetting on to the lane's other folds, which do not read `conversations`. */
const turnsForgotten = (event: LaneForgotten) =>
  TurnsForgotten.create({
    ...envelopeOf(event),
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
 * Finds the session and turn of an interaction, and the turns that it completes. conversations -> turns.
 * The state of one lane is split by access key. Rows hold hashes and positions; message text stays in the log.
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
    const tables = laneTables(draft, event.data.key);
    const lastAnswerAlone = settings?.lastAnswerAlone ?? false;
    const cause: Cause = { event, at, tables, clients, lastAnswerAlone, emit: [] };
    const time = Date.parse(event.time);
    const lanes = laneTable(draft);
    const before = lanes.get('now');
    const lane = clockAt(before, { time, recorded: event.recorded, moves: movesTime(event) });
    const horizon = horizonOf(lane);
    if (horizon !== undefined) forget(rows, draft, horizon, settings ?? {});
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

/** Only events from serving advance the lane's clock, not a sweeper's timer or an operator's command. */
const movesTime = (event: Attributed) => !isIdleTimer(event) && event.type !== 'interaction.withdrawn';
const takesBack = ({ type }: Attributed) => type === 'response.deleted' || type === 'interaction.withdrawn';
const isIdleTimer = (event: Attributed) => event.type === 'session.ended' && event.data.reason === 'idle';

function isKnown({ tables }: Cause, event: Attributed): boolean {
  return event.type === 'interaction.completed'
    ? tables.turns.get(event.id) !== undefined
    : tables.seen.get(event.id) !== undefined;
}

function react(cause: Cause, event: Attributed, lane: LaneRow, settings: AttributeSettings): void {
  const { tables } = cause;
  const time = Date.parse(event.time);
  const { turnDiscount = 1, atOnce = false, firstEdits = false, clients = false } = settings;
  const { rewardedAreMain = false, tellsOpened = false, namesVersion = false, laterEdits = false } = settings;
  if (isTooLate(lane, time) && !isIdleTimer(event) && !takesBack(event)) {
    if (event.type === 'interaction.completed' && event.data.live)
      emitSkipped(cause, { turnId: event.id, reason: 'too-late' });
    return;
  }
  if (event.type !== 'interaction.completed' && !isIdleTimer(event)) tables.seen.set(event.id, time);
  switch (event.type) {
    case 'interaction.completed':
      onInteraction(cause, event, {
        atOnce,
        firstEdits,
        clients,
        rewardedAreMain,
        tellsOpened,
        namesVersion,
        laterEdits,
      });
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
 * Feedback may arrive before its interaction, which may still be in an outbox, but never from another access
 * key. It completes its turn at once, because a person who rates the last answer may write nothing after it.
 */
function onFeedback(cause: Cause, event: FeedbackGiven, atOnce: boolean): void {
  const { tables } = cause;
  const time = Date.parse(event.time);
  const { interactionId, score, advantage, comment, last, steps } = event.data;
  const pending = {
    given: event.id,
    score,
    time,
    order: cause.at.offset,
    ...defined({
      advantage,
      comment,
      steps: steps && { order: cause.at.offset, list: steps },
      last: last ? last : undefined,
    }),
  };
  const turn = tables.turns.get(interactionId);
  if (turn === undefined) {
    tables.early.set(interactionId, [...(tables.early.get(interactionId) ?? []), pending]);
    return;
  }
  if (turn.session !== undefined && tables.sessions.get(turn.session)?.open)
    updateSession(tables, turn.session, { last: event.id });
  if (turn.session !== undefined && setReward(tables, turn.session, interactionId, pending)) return;
  if (turn.status === 'done' || turn.told !== undefined) {
    emitFeedback(cause, interactionId, pending);
    return;
  }
  const withFeedback: OpenTurn = { ...turn, feedback: [...turn.feedback, pending] };
  if (atOnce && turn.settle === 'votes') completeEarly(cause, interactionId, withFeedback);
  else tables.turns.set(interactionId, withFeedback);
}

/** Ends a session. An idle timer names the epoch and the last event that it saw, and is ignored if outdated. */
function onSessionEnded(cause: Cause, event: SessionEnded, lane: LaneRow, discount: number): void {
  const { tables, emit } = cause;
  const { session, key, reason, epoch, last, discard = false } = event.data;
  const row = tables.sessions.get(session);
  if (!row?.open) return;
  if (reason === 'idle' && (row.epoch !== epoch || row.last !== last)) return;
  const returns = discard ? undefined : sessionReturns(tables, session, row.openTurns, discount);
  for (const id of row.openTurns) {
    const turn = tables.turns.get(id) as OpenTurn;
    if (turn.told !== undefined) closeTurn(cause, id, turn);
    else if (discard) skipTurn(cause, id, turn, { reason: 'discarded' });
    else if (turn.settle === 'reward') endRewardTurn(cause, id, turn, returns);
    else if (turn.feedback.length > 0) completeTurn(cause, id, turn, undefined);
    else skipTurn(cause, id, turn, { reason: 'no-next-state' });
  }
  for (const turnReturn of returns?.kept ?? []) emitReturn(cause, turnReturn);
  forgetNodes(tables, session);
  updateSession(tables, session, { open: false, closedAt: lane.time });
  const data = {
    lane: event.subject,
    key,
    session,
    epoch: row.epoch,
    by: event.id,
    ...defined({ discard: discard ? discard : undefined, weigh: row.weigh }),
  };
  emit.push(SessionClosed.create({ ...envelopeOf(event), id: `${session}@${row.epoch}/closed`, data }));
}

/** Settles an open turn. It earns nothing if another answer to its request was continued or rewarded. */
function endRewardTurn(cause: Cause, id: string, turn: OpenTurn, returns: SessionReturns | undefined): void {
  if (returns === undefined) skipTurn(cause, id, turn, { reason: 'no-reward' });
  else if (returns.superseded.has(id)) skipTurn(cause, id, turn, { reason: 'superseded' });
  else completeTurn(cause, id, turn, undefined);
}
