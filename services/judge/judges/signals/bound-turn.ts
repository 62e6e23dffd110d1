import type { TurnCompleted } from '../../../../shared/events/turn-completed.ts';
import { boundMessage } from '../../own-words/bound-text.ts';

/** What signals and the ear look at; the answer only the ear. */
export type Turn = Pick<TurnCompleted['data'], 'messages' | 'next'> &
  Partial<Pick<TurnCompleted['data'], 'answer'>>;

/** Messages of a person, the latest, and results of tools, the first, that are looked at. */
const MOST = { requests: 4, words: 16, results: 64 };
/** Of a tool's output, characters from each end. */
const READ_OF_RESULT = 16_000;

/** As much of a turn as the rules read: it takes no longer to judge a longer one. */
export function boundTurn({ messages, next, answer }: Turn): Turn {
  const requests = messages.filter(({ role }) => role === 'user').slice(-MOST.requests);
  const words = next.filter(({ role }) => role === 'user').slice(-MOST.words);
  const results = next.filter(({ role }) => role === 'tool').slice(0, MOST.results);
  return {
    ...(answer === undefined ? {} : { answer: boundMessage(answer) }),
    messages: requests.map((message) => boundMessage(message)),
    next: [
      ...results.map((message) => boundMessage(message, READ_OF_RESULT)),
      ...words.map((message) => boundMessage(message)),
    ],
  };
}
