import type { TurnCompleted } from '../../../../shared/events/turn-completed.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { boundMessage } from '../../own-words/bound-text.ts';

/** The part of a turn that signals and the ear read; only the ear reads the answer. */
export type Turn = Pick<TurnCompleted['data'], 'messages' | 'next'> &
  Partial<Pick<TurnCompleted['data'], 'answer'>>;

/** Maximum messages that are read: the last requests and replies of the person, the first tool results. */
const MOST = { requests: 4, replies: 16, results: 64 };
/** Characters that are read at each end of a tool's output. */
const READ_OF_RESULT = 16_000;

/** The bounded part of a turn that the rules read, so that a longer turn takes no longer. */
export function boundTurn({ messages, next, answer }: Turn): Turn {
  const requests = messages.filter(({ role }) => role === 'user').slice(-MOST.requests);
  const replies = next.filter(({ role }) => role === 'user').slice(-MOST.replies);
  const results = next.filter(({ role }) => role === 'tool').slice(0, MOST.results);
  return {
    ...defined({ answer: answer === undefined ? undefined : boundMessage(answer) }),
    messages: requests.map((message) => boundMessage(message)),
    next: [
      ...results.map((message) => boundMessage(message, READ_OF_RESULT)),
      ...replies.map((message) => boundMessage(message)),
    ],
  };
}
