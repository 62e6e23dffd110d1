import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { Conversation } from './conversation.ts';
import { editedFirst } from './edited-first.ts';
import type { OpenTurn } from './lane-tables.ts';
import { type Cause, completeEarly, completeTurn } from './turn-outcome.ts';

/** The effects of a new request on earlier turns of its session: it is their next state, or refuses an answer. */

/**
 * More than two answers to one request are not counted as refused: a program that draws many is not a person.
 */
const MOST_REFUSED = 2;

/**
 * Reads the next state of every answer in a main request's history. An open turn with such an answer was kept
 * and is complete; of equal answers the latest counts. A next state that was shown before completes nothing,
 * because every later request repeats it.
 */
export function readNextStates(cause: Cause, session: string, conversation: Conversation): void {
  const { tables, event, at, clients } = cause;
  const [table, openByAnswer] = [tables.next(session), tables.openByAnswer(session)];
  const last = conversation.answers.at(-1)?.end;
  for (const { full, start, end, after, hasEvidence } of conversation.answers) {
    const isNew = tables.known.get(full) === undefined;
    if (isNew && !clients) tables.known.set(full, session);
    // Examples in a prompt are answers, too, but lead to no session.
    if (isNew && clients && tables.shown.get(full) === undefined) tables.shown.set(full, session);
    if (!hasEvidence) continue;
    const before = table.get(full);
    if (before?.after === after) continue;
    const byAnswer = isNew && end === last ? openTurnWithAnswer(cause, session, conversation) : undefined;
    const kept = openByAnswer.get(full)?.at(-1) ?? byAnswer;
    if (before !== undefined && kept === undefined) continue; // another branch after a settled answer
    const shown = { from: event.id, at, start, end, after, used: kept !== undefined };
    table.set(full, shown);
    if (kept !== undefined) completeTurn(cause, kept, tables.turns.get(kept) as OpenTurn, shown);
  }
}

/**
 * The open turn with the last answer of a history that the client changed before that answer, by a compaction
 * or by merging two messages of a person. Undefined if several open turns have the same answer.
 */
function openTurnWithAnswer(
  { tables, lastAnswerAlone }: Cause,
  session: string,
  conversation: Conversation,
): string | undefined {
  const { lastAnswer, answerAfterCut, namedAnswer, answersAlone } = conversation;
  const answer = lastAnswerAlone ? lastAnswer : (answerAfterCut ?? namedAnswer ?? answersAlone[0]);
  if (answer === undefined) return undefined;
  const candidates = (tables.sessions.get(session)?.openTurns ?? []).filter(
    (id) => (tables.turns.get(id) as OpenTurn).answer === answer,
  );
  return candidates.length === 1 ? candidates[0] : undefined;
}

/** Completes a turn whose continuation arrived first, because its own record was delayed in an outbox. */
export function completeIfOvertaken(cause: Cause, id: string, turn: OpenTurn): void {
  const table = cause.tables.next(turn.session);
  const shown = table.get(turn.full);
  if (shown === undefined || shown.used) return;
  table.set(turn.full, { ...shown, used: true });
  completeTurn(cause, id, turn, shown);
}

/**
 * Completes turns whose answer the person refused by asking for another one, or by changing the request and
 * sending it again. Counts only if the new request began after that answer was complete: a client that retries
 * after a timeout, or asks for several answers at once, refuses nothing.
 * @returns whether the new answer replaces another answer to the same request
 */
export function completeRefusedAnswers(
  cause: Cause,
  event: InteractionCompleted,
  {
    session,
    conversation,
    laterEdits,
  }: { readonly session: string; readonly conversation: Conversation; readonly laterEdits: boolean },
): boolean {
  const { tables } = cause;
  const { data } = event;
  const began = Date.parse(data.timing.startedAt);
  const answersTo = (prompt: string) =>
    (tables.openByPrompt(session).get(prompt) ?? [])
      .map((id) => [id, tables.turns.get(id) as OpenTurn] as const)
      .filter(([, { settle, time }]) => settle === 'votes' && time !== undefined && time < began);
  const refuse = (answers: ReturnType<typeof answersTo>, implies: 'regenerated' | 'edited') => {
    const left = MOST_REFUSED - answers.filter(([, { told }]) => told === 'implied').length;
    const open = answers.filter(([, { told }]) => told === undefined);
    for (const [id, turn] of open.slice(0, Math.max(0, left))) completeEarly(cause, id, turn, { implies });
  };

  const earlier = answersTo(conversation.prompt);
  refuse(earlier, 'regenerated');
  const first = editedFirst({ tables, data, conversation });
  const edited = first?.session === session ? first.prompt : replacedRequest(cause, session, conversation);
  if (edited !== undefined) refuse(answersTo(edited), 'edited');
  if (laterEdits && first === undefined) noteEdit(cause, session, conversation);
  return earlier.length > 0;
}

/** The earlier request after the same answer, as its rolling hash before its own answer. */
function replacedRequest(
  { tables }: Cause,
  session: string,
  { prompt, answers, answersCalls, latestKind }: Conversation,
): string | undefined {
  const last = answers.at(-1);
  if (last === undefined || answersCalls || latestKind !== undefined) return undefined;
  const next = tables.next(session).get(last.full);
  const before = next?.latest ?? next?.after;
  return before === prompt ? undefined : before;
}

/** Remembers a request that replaced an earlier one after the same answer. */
function noteEdit({ tables }: Cause, session: string, { prompt, answers }: Conversation): void {
  const table = tables.next(session);
  const last = answers.at(-1)?.full;
  const row = last === undefined ? undefined : table.get(last);
  if (last !== undefined && row !== undefined && (row.latest ?? row.after) !== prompt)
    table.set(last, { ...row, latest: prompt });
}
