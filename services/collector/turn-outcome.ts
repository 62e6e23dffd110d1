import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { Position } from '../../shared/events/position.ts';
import { TurnCompleted } from '../../shared/events/turn-completed.ts';
import { TurnContinued } from '../../shared/events/turn-continued.ts';
import { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import type { Table } from '../../shared/log/rows.ts';
import { evidenceIn } from './conversation.ts';
import type { LaneTables, NextRow, OpenTurn, PendingFeedback } from './lane-tables.ts';
import { markContinued } from './reward-nodes.ts';
import { updateSession } from './session.ts';
import type { TurnReturn } from './session-returns.ts';
import type { SkipReason } from './skip-reason.ts';
import { envelopeOf } from './source.ts';

/** The event being folded: its position, the tables that it may change, and the events emitted so far. */
export type Cause = {
  readonly event: ClawLoopEvent;
  readonly at: Position;
  readonly tables: LaneTables;
  /** `clients` of the fold's settings */
  readonly clients: boolean;
  /** `lastAnswerAlone` of the fold's settings */
  readonly lastAnswerAlone: boolean;
  readonly emit: (ClawLoopEvent | DeferredEvent)[];
};

/** The messages after an answer, and the interaction that contains them. Undefined: its session ended. */
type NextState = Pick<NextRow, 'from' | 'at' | 'start' | 'end'>;

/**
 * Completes a turn. Other open answers to the same request were not kept and are skipped, unless their session
 * is settled by reward: those may still get a reward and are judged when the session ends.
 */
export function completeTurn(cause: Cause, id: string, turn: OpenTurn, shown: NextState | undefined): void {
  closeTurn(cause, id, turn);
  if (turn.told === undefined || shown !== undefined)
    cause.emit.push(turnCompleted(cause, id, turn, { shown }));
  releaseFeedback(cause, id, turn.feedback);
  if (shown === undefined) return;
  const { tables } = cause;
  if (tables.firstPrompts.get(turn.prompt)?.session === turn.session) tables.firstPrompts.delete(turn.prompt);
  markContinued(tables, turn.session, id);
  for (const sibling of tables.openByPrompt(turn.session).get(turn.prompt) ?? []) {
    const other = tables.turns.get(sibling) as OpenTurn;
    if (other.settle !== 'votes') continue;
    if (other.told === undefined) skipTurn(cause, sibling, other, { reason: 'superseded' });
    else closeTurn(cause, sibling, other);
  }
}

/** Why a turn completes without a next state: by feedback, or by what the person's action implies. */
type EarlyCompletion = { readonly implies?: 'regenerated' | 'edited' };

/** Completes a turn without a next state. It stays open for the next state, which may bring a hint. */
export function completeEarly(cause: Cause, id: string, turn: OpenTurn, early: EarlyCompletion = {}): void {
  const { preferred: _, ...rest } = turn;
  const told = early.implies === undefined ? 'feedback' : 'implied';
  cause.tables.turns.set(id, { ...rest, feedback: [], told });
  cause.emit.push(turnCompleted(cause, id, turn, early));
  releaseFeedback(cause, id, turn.feedback);
}

/** @param rule the turn's own rule by default */
export function skipTurn(
  cause: Cause,
  id: string,
  turn: OpenTurn,
  {
    reason,
    rule = turn.rule,
    answered,
  }: Pick<TurnSkipped['data'], 'answered'> & { readonly reason: SkipReason; readonly rule?: string },
): void {
  closeTurn(cause, id, turn);
  const { session, epoch, disagreement } = turn;
  emitSkipped(cause, { turnId: id, session, epoch, reason, rule, ...defined({ disagreement, answered }) });
  releaseFeedback(cause, id, turn.feedback);
}

type SkippedTurn = Omit<TurnSkipped['data'], 'lane' | 'by'>;

export function emitSkipped({ event, emit }: Cause, data: SkippedTurn): void {
  emit.push(turnSkipped(event, data));
}

function turnSkipped(event: ClawLoopEvent, data: SkippedTurn): TurnSkipped {
  const ending = data.reason === 'too-late' ? 'too-late' : 'skipped';
  const whole = { ...data, lane: event.subject, by: event.id };
  return TurnSkipped.create({ ...envelopeOf(event), id: `${data.turnId}/${ending}`, data: whole });
}

export function emitFeedback({ event, emit }: Cause, turnId: string, feedback: PendingFeedback): void {
  const { given, score, advantage, comment } = feedback;
  const data = {
    turnId,
    lane: event.subject,
    score,
    given,
    ...defined({ advantage, comment }),
  };
  emit.push(TurnFeedback.create({ ...envelopeOf(event), id: `${given}/feedback`, data }));
}

/** Emits the return of a turn when its session, settled by reward, ends. */
export function emitReturn(
  { event, emit }: Cause,
  { id, earned, parent, discount, reward, process }: TurnReturn,
): void {
  const data = {
    turnId: id,
    lane: event.subject,
    score: earned.reward,
    given: reward?.given ?? event.id,
    ...defined({ advantage: earned.advantage, comment: reward?.comment, process }),
    return: { own: reward?.score ?? null, parent, discount, ...defined({ step: earned.step }) },
  };
  emit.push(TurnFeedback.create({ ...envelopeOf(event), id: `${id}/return`, data }));
}

/** Emits the feedback on an open turn after the turn's own event, so that the judge never sees it first. */
export function releaseFeedback(cause: Cause, turnId: string, pending: readonly PendingFeedback[]): void {
  for (const feedback of pending) emitFeedback(cause, turnId, feedback);
}

export function openTurn({ tables }: Cause, id: string, turn: OpenTurn): void {
  tables.turns.set(id, turn);
  const add = (ids: readonly string[] | undefined) => [...(ids ?? []), id];
  const [byAnswer, byPrompt] = [tables.openByAnswer(turn.session), tables.openByPrompt(turn.session)];
  for (const hash of hashesAfter(turn)) byAnswer.set(hash, add(byAnswer.get(hash)));
  byPrompt.set(turn.prompt, add(byPrompt.get(turn.prompt)));
  updateSession(tables, turn.session, { openTurns: add(tables.sessions.get(turn.session)?.openTurns) });
}

const hashesAfter = ({ full, spoken }: OpenTurn): readonly string[] =>
  spoken === undefined ? [full] : [full, spoken];

/** Closes an open turn without an event. */
export function closeTurn({ tables, event }: Cause, id: string, turn: OpenTurn): void {
  const { session } = turn;
  tables.turns.set(id, { status: 'done', session, time: Date.parse(event.time) });
  const open = tables.sessions.get(session)?.openTurns ?? [];
  if (!open.includes(id)) return; // skipped on arrival, never opened
  updateSession(tables, session, { openTurns: without(open, id) });
  for (const hash of hashesAfter(turn)) removeFrom(tables.openByAnswer(session), hash, id);
  removeFrom(tables.openByPrompt(session), turn.prompt, id);
}

const without = (ids: readonly string[], id: string) => ids.filter((other) => other !== id);

function removeFrom(table: Table<readonly string[]>, hash: string, id: string): void {
  const left = without(table.get(hash) ?? [], id);
  if (left.length > 0) table.set(hash, left);
  else table.delete(hash);
}

/**
 * Combines the turn's own record with the record of its next state. The event being folded is one of the two;
 * the other is read from the log.
 */
function turnCompleted(
  { event, at, clients, tables }: Cause,
  id: string,
  turn: OpenTurn,
  { shown, implies }: EarlyCompletion & { readonly shown?: NextState | undefined },
): DeferredEvent {
  const isLater = turn.told !== undefined;
  const process = tables.sessions.get(turn.session)?.process;
  const implied = shown !== undefined && turn.preferred ? ('kept' as const) : implies;
  const create = (record: InteractionCompleted, next: readonly ChatMessage[]) =>
    (isLater ? TurnContinued : TurnCompleted).create({
      ...envelopeOf(event),
      traceparent: record.traceparent, // the turn's own, not that of the next request
      id: `${id}/${isLater ? 'continued' : 'completed'}`,
      data: {
        ...recordedTurn(record),
        ...attributionOf(turn),
        next,
        from: shown?.from ?? null,
        by: event.id,
        ...defined({ implies: implied, process }),
      },
    });
  const isOwn = at.partition === turn.at.partition && at.offset === turn.at.offset;
  const nextIn = (record: ClawLoopEvent) =>
    shown === undefined ? [] : evidenceIn((record as InteractionCompleted).data.messages, shown, clients);
  const gone = (reads: Position) => () => recordGone(event, id, turn, reads);
  return isOwn && shown !== undefined
    ? {
        reads: shown.at,
        id: shown.from,
        gone: gone(shown.at),
        create: (record) => create(event as InteractionCompleted, nextIn(record)),
      }
    : {
        reads: turn.at,
        id,
        gone: gone(turn.at),
        create: (record) => create(record as InteractionCompleted, nextIn(event)),
      };
}

/** Without the turn's record or its next state, there is nothing to judge. */
function recordGone(event: ClawLoopEvent, turnId: string, turn: OpenTurn, reads: Position): TurnSkipped {
  const { session, epoch, disagreement } = turn;
  const rule = `conversations/${reads.partition}/${reads.offset}`;
  const why = { reason: 'record-gone', rule, ...defined({ disagreement }) } as const;
  return turnSkipped(event, { turnId, session, epoch, ...why });
}

function recordedTurn({ data }: InteractionCompleted) {
  const { interactionId, lane, key, adapter, version, settle, messages, answer, tokens } = data;
  const { tools, templateInput } = data;
  return {
    turnId: interactionId,
    lane,
    key,
    adapter,
    version,
    settle,
    messages,
    answer,
    ...defined({ tools, templateInput }),
    tokens: tokens!,
  };
}

const attributionOf = ({ session, epoch, rule, sessionBy, disagreement }: OpenTurn) => ({
  session,
  epoch,
  rule,
  sessionBy,
  ...defined({ disagreement }),
});
