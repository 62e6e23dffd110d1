import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { attribute } from '../attribute.ts';
import { assistant, type InteractionGiven, interaction, sessionEnded, user } from './events.ts';
import { brief, runFold } from './run-fold.ts';

/**
 * An interaction of a session settled by reward. Messages alternate between user and assistant:
 * 'hi|hello|and?|well'.
 */
export function rewardedAnswer(id: string, words: string, more: Partial<InteractionGiven> = {}) {
  const all = words.split('|').map((word, index): ChatMessage => (index % 2 ? assistant(word) : user(word)));
  const answer = all.at(-1)!;
  return interaction({
    id,
    session: 's',
    settle: 'reward',
    messages: all.slice(0, -1),
    answer,
    ...more,
  });
}
export const end = sessionEnded({ id: 'e' }, 's');

/** The events that `attribute` emits; `emittedLines`: one line each. */
export const fold = (events: readonly ClawLoopEvent[], turnDiscount = 1) =>
  runFold(attribute, events, { turnDiscount }).emitted;
export const emittedLines = (events: readonly ClawLoopEvent[], turnDiscount?: number) =>
  fold(events, turnDiscount).map(brief);

/** Id of the turn -> [return, advantage]. */
export const returns = (events: readonly ClawLoopEvent[], turnDiscount?: number) =>
  Object.fromEntries(
    fold(events, turnDiscount).flatMap(({ type, data }) =>
      type === 'turn.feedback' ? [[data.turnId, [data.score, data.advantage]]] : [],
    ),
  );

/** A conversation of three answers. */
export const chain = [
  rewardedAnswer('a', 'hi|hello'),
  rewardedAnswer('b', 'hi|hello|and?|well'),
  rewardedAnswer('c', 'hi|hello|and?|well|so?|yes'),
];
