import type { Conversation } from './conversation.ts';
import type { OpenTurn } from './lane-tables.ts';
import { type Cause, completeTurn } from './turn-outcome.ts';

/**
 * For every answer in a main request's history: what came next. An open turn whose answer it is was kept, and
 * is complete; of equal answers the latest counts. What was shown before completes nothing again: every later
 * request repeats it.
 */
export function readNextStates(cause: Cause, session: string, conversation: Conversation): void {
  const { mine, event, at, clients } = cause;
  const [table, openByAnswer] = [mine.next(session), mine.openByAnswer(session)];
  const last = conversation.answers.at(-1)?.end;
  for (const { full, start, end, after, told } of conversation.answers) {
    const isNew = mine.known.get(full) === undefined;
    if (isNew && !clients) mine.known.set(full, session);
    // examples in a prompt are answers, too: they lead to no session
    if (isNew && clients && mine.shown.get(full) === undefined) mine.shown.set(full, session);
    if (!told) continue;
    const before = table.get(full);
    if (before?.after === after) continue;
    const fromBefore = isNew && end === last ? byAnswerAlone(cause, session, conversation) : undefined;
    const kept = openByAnswer.get(full)?.at(-1) ?? fromBefore;
    if (before !== undefined && kept === undefined) continue; // another branch of an answer that is settled
    const shown = { from: event.id, at, start, end, after, used: kept !== undefined };
    table.set(full, shown);
    if (kept !== undefined) completeTurn(cause, kept, mine.turns.get(kept) as OpenTurn, shown);
  }
}

/**
 * The open turn whose answer is the last one of a history that the client changed before it: cut, by a compaction
 * say, or two messages of a person's made one. Only if there is no other with the same answer.
 */
function byAnswerAlone({ mine }: Cause, session: string, conversation: Conversation): string | undefined {
  const { answerAfterCut, namedAnswer, answersAlone } = conversation;
  const answer = answerAfterCut ?? namedAnswer ?? answersAlone[0];
  if (answer === undefined) return undefined;
  const alike = (mine.sessions.get(session)?.openTurns ?? []).filter(
    (id) => (mine.turns.get(id) as OpenTurn).answer === answer,
  );
  return alike.length === 1 ? alike[0] : undefined;
}

/**
 * A continuation may have overtaken its parent (an outbox): then the parent is complete as soon as it
 * arrives.
 */
export function completeIfOvertaken(cause: Cause, id: string, turn: OpenTurn): void {
  const table = cause.mine.next(turn.session);
  const shown = table.get(turn.full);
  if (shown === undefined || shown.used) return;
  table.set(turn.full, { ...shown, used: true });
  completeTurn(cause, id, turn, shown);
}
