import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { Conversation } from './conversation.ts';
import { editedFirst } from './edited-first.ts';
import type { OpenTurn } from './lane-tables.ts';
import { type Cause, completeEarly } from './turn-outcome.ts';

/** Answers to one request that count as refused. A program that draws many answers is no person. */
const MOST_REFUSED = 2;

/**
 * A person who asks for another answer, or changes the request and sends it again, did not want the answer that
 * stands. Only where the new request began after that answer was whole: a client that tries again because it
 * waited too long, or asks for several at once, refuses nothing.
 * @returns whether the new answer takes the place of another one to the same request
 */
export function tellAskedAgain(
  cause: Cause,
  event: InteractionCompleted,
  session: string,
  conversation: Conversation,
): boolean {
  const { mine } = cause;
  const { data } = event;
  const began = Date.parse(data.timing.startedAt);
  const answersTo = (prompt: string) =>
    (mine.openByPrompt(session).get(prompt) ?? [])
      .map((id) => [id, mine.turns.get(id) as OpenTurn] as const)
      .filter(([, { settle, time }]) => settle === 'votes' && time !== undefined && time < began);
  const refuse = (answers: ReturnType<typeof answersTo>, implies: 'regenerated' | 'edited') => {
    const left = MOST_REFUSED - answers.filter(([, { told }]) => told === 'implied').length;
    const open = answers.filter(([, { told }]) => told === undefined);
    for (const [id, turn] of open.slice(0, Math.max(0, left))) completeEarly(cause, id, turn, { implies });
  };

  const earlier = answersTo(conversation.prompt);
  refuse(earlier, 'regenerated');
  const first = editedFirst({ mine, data, conversation });
  const edited = first?.session === session ? first.prompt : requestInPlaceOf(cause, session, conversation);
  if (edited !== undefined) refuse(answersTo(edited), 'edited');
  return earlier.length > 0;
}

/** The request that stood where this one stands, after the same answer: hash before its own answer. */
function requestInPlaceOf(
  { mine }: Cause,
  session: string,
  { prompt, answers, answersCalls, latestKind }: Conversation,
): string | undefined {
  const last = answers.at(-1);
  if (last === undefined || answersCalls || latestKind !== undefined) return undefined;
  const before = mine.next(session).get(last.full)?.after;
  return before === prompt ? undefined : before;
}
