import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { Position } from '../../shared/events/position.ts';
import { TurnCompleted } from '../../shared/events/turn-completed.ts';
import { TurnContinued } from '../../shared/events/turn-continued.ts';
import { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import type { Table } from '../../shared/log/rows.ts';
import { evidenceIn } from './conversation.ts';
import type { HeldFeedback, LaneTables, NextRow, OpenTurn } from './lane-tables.ts';
import { markContinued } from './reward-nodes.ts';
import { updateSession } from './session.ts';
import type { TurnReturn } from './session-returns.ts';
import type { SkipReason } from './skip-reason.ts';
import { facts } from './source.ts';

/**
 * One event on its way through the fold: where it stands, whose rows it may touch, and what it has told so
 * far.
 */
export type Cause = {
  readonly event: ClawLoopEvent;
  readonly at: Position;
  readonly mine: LaneTables;
  /** as in the settings of the fold */
  readonly clients: boolean;
  readonly emit: (ClawLoopEvent | DeferredEvent)[];
};

/** What completes a turn: the messages after its answer, and who showed them. Absent: its session ended. */
export type Shown = Pick<NextRow, 'from' | 'at' | 'start' | 'end'>;

/**
 * A turn is complete; open answers to the same request were not kept. Those that wait for a reward may still
 * get one: they are judged at the end of their session.
 */
export function completeTurn(cause: Cause, id: string, turn: OpenTurn, shown: Shown | undefined): void {
  closeTurn(cause, id, turn);
  if (turn.told === undefined || shown !== undefined)
    cause.emit.push(turnCompleted(cause, id, turn, { shown }));
  releaseFeedback(cause, id, turn.feedback);
  if (shown === undefined) return;
  const { mine } = cause;
  if (mine.firstPrompts.get(turn.prompt)?.session === turn.session) mine.firstPrompts.delete(turn.prompt);
  markContinued(mine, turn.session, id);
  for (const sibling of mine.openByPrompt(turn.session).get(turn.prompt) ?? []) {
    const other = mine.turns.get(sibling) as OpenTurn;
    if (other.settle !== 'votes') continue;
    if (other.told === undefined) skipTurn(cause, sibling, other, 'superseded');
    else closeTurn(cause, sibling, other);
  }
}

/** What completes a turn although nothing was said after it: feedback, unless it implies something. */
export type Early = { readonly implies?: 'regenerated' | 'edited' };

/** It stays open for its next state, which may bring a hint. */
export function completeEarly(cause: Cause, id: string, turn: OpenTurn, early: Early = {}): void {
  const { preferred: _, ...rest } = turn;
  const told = early.implies === undefined ? 'feedback' : 'implied';
  cause.mine.turns.set(id, { ...rest, feedback: [], told });
  cause.emit.push(turnCompleted(cause, id, turn, early));
  releaseFeedback(cause, id, turn.feedback);
}

/** Its session is over, and its outcome is told already. */
export function closeTold(cause: Cause, id: string, turn: OpenTurn): void {
  closeTurn(cause, id, turn);
}

export function skipTurn(
  cause: Cause,
  id: string,
  turn: OpenTurn,
  reason: SkipReason,
  rule = turn.rule,
): void {
  closeTurn(cause, id, turn);
  const { session, epoch, disagreement } = turn;
  const different = disagreement === undefined ? {} : { disagreement };
  tellSkipped(cause, { turnId: id, session, epoch, reason, rule, ...different });
  releaseFeedback(cause, id, turn.feedback);
}

type Skipped = Omit<TurnSkipped['data'], 'lane' | 'by'>;

export function tellSkipped({ event, emit }: Cause, data: Skipped): void {
  emit.push(turnSkipped(event, data));
}

function turnSkipped(event: ClawLoopEvent, data: Skipped): TurnSkipped {
  const ending = data.reason === 'too-late' ? 'too-late' : 'skipped';
  const whole = { ...data, lane: event.subject, by: event.id };
  return TurnSkipped.create({ ...facts(event), id: `${data.turnId}/${ending}`, data: whole });
}

export function tellFeedback({ event, emit }: Cause, turnId: string, feedback: HeldFeedback): void {
  const { given, score, advantage, comment } = feedback;
  const data = {
    ...{ turnId, lane: event.subject, score, given },
    ...(advantage === undefined ? {} : { advantage }),
    ...(comment === undefined ? {} : { comment }),
  };
  emit.push(TurnFeedback.create({ ...facts(event), id: `${given}/feedback`, data }));
}

/** Of a session that is settled by reward, at its end: what a turn earned by itself and by what came of it. */
export function tellReturn(
  { event, emit }: Cause,
  { id, earned, parent, discount, reward }: TurnReturn,
): void {
  const data = {
    ...{ turnId: id, lane: event.subject, score: earned.reward, given: reward?.given ?? event.id },
    ...(earned.advantage === undefined ? {} : { advantage: earned.advantage }),
    ...(reward?.comment === undefined ? {} : { comment: reward.comment }),
    return: { own: reward?.score ?? null, parent, discount },
  };
  emit.push(TurnFeedback.create({ ...facts(event), id: `${id}/return`, data }));
}

/** Feedback that came while a turn was open follows the turn, so that the judge never sees it first. */
export function releaseFeedback(cause: Cause, turnId: string, held: readonly HeldFeedback[]): void {
  for (const feedback of held) tellFeedback(cause, turnId, feedback);
}

export function openTurn({ mine }: Cause, id: string, turn: OpenTurn): void {
  mine.turns.set(id, turn);
  const add = (ids: readonly string[] | undefined) => [...(ids ?? []), id];
  const [byAnswer, byPrompt] = [mine.openByAnswer(turn.session), mine.openByPrompt(turn.session)];
  for (const hash of hashesAfter(turn)) byAnswer.set(hash, add(byAnswer.get(hash)));
  byPrompt.set(turn.prompt, add(byPrompt.get(turn.prompt)));
  updateSession(mine, turn.session, { openTurns: add(mine.sessions.get(turn.session)?.openTurns) });
}

const hashesAfter = ({ full, spoken }: OpenTurn): readonly string[] =>
  spoken === undefined ? [full] : [full, spoken];

function closeTurn({ mine, event }: Cause, id: string, turn: OpenTurn): void {
  const { session } = turn;
  mine.turns.set(id, { status: 'done', session, time: Date.parse(event.time) });
  const open = mine.sessions.get(session)?.openTurns ?? [];
  if (!open.includes(id)) return; // skipped as soon as it came
  updateSession(mine, session, { openTurns: without(open, id) });
  for (const hash of hashesAfter(turn)) removeFrom(mine.openByAnswer(session), hash, id);
  removeFrom(mine.openByPrompt(session), turn.prompt, id);
}

const without = (ids: readonly string[], id: string) => ids.filter((other) => other !== id);

function removeFrom(table: Table<readonly string[]>, hash: string, id: string): void {
  const left = without(table.get(hash) ?? [], id);
  if (left.length > 0) table.set(hash, left);
  else table.delete(hash);
}

/**
 * Three bodies meet here: the turn's own record, the one that showed its next state, and the event at hand is
 * one of them.
 */
function turnCompleted(
  { event, at, clients }: Cause,
  id: string,
  turn: OpenTurn,
  { shown, implies }: Early & { readonly shown?: Shown | undefined },
): DeferredEvent {
  const isLater = turn.told !== undefined;
  const implied = shown !== undefined && turn.preferred ? ('kept' as const) : implies;
  const create = (own: InteractionCompleted, next: readonly ChatMessage[]) =>
    (isLater ? TurnContinued : TurnCompleted).create({
      ...facts(event),
      id: `${id}/${isLater ? 'continued' : 'completed'}`,
      data: {
        ...{ ...recordedTurn(own), ...whereItStands(turn), next, from: shown?.from ?? null, by: event.id },
        ...(implied === undefined ? {} : { implies: implied }),
      },
    });
  const isOwn = at.partition === turn.at.partition && at.offset === turn.at.offset;
  const nextIn = (record: ClawLoopEvent) =>
    shown === undefined ? [] : evidenceIn((record as InteractionCompleted).data.messages, shown, clients);
  const lost = (reads: Position) => () => recordGone(event, id, turn, reads);
  return isOwn && shown !== undefined
    ? {
        ...{ reads: shown.at, id: shown.from, gone: lost(shown.at) },
        create: (record) => create(event as InteractionCompleted, nextIn(record)),
      }
    : {
        ...{ reads: turn.at, id, gone: lost(turn.at) },
        create: (record) => create(record as InteractionCompleted, nextIn(event)),
      };
}

/** Without the turn's own words, or without what came next, there is nothing to judge. */
function recordGone(event: ClawLoopEvent, turnId: string, turn: OpenTurn, reads: Position): TurnSkipped {
  const { session, epoch, disagreement } = turn;
  const rule = `conversations/${reads.partition}/${reads.offset}`;
  const different = disagreement === undefined ? {} : { disagreement };
  return turnSkipped(event, { turnId, session, epoch, reason: 'record-gone', rule, ...different });
}

function recordedTurn({ data }: InteractionCompleted) {
  const { interactionId, lane, key, adapter, version, settle, messages, answer, tokens } = data;
  const { tools, templateInput } = data;
  const own = { turnId: interactionId, lane, key, adapter, version, settle, messages, answer };
  return {
    ...own,
    ...(tools === undefined ? {} : { tools }),
    ...(templateInput === undefined ? {} : { templateInput }),
    tokens: tokens!,
  };
}

const whereItStands = ({ session, epoch, rule, sessionBy, disagreement }: OpenTurn) => ({
  session,
  epoch,
  rule,
  sessionBy,
  ...(disagreement === undefined ? {} : { disagreement }),
});
