import type { AskedChat } from '../chat/answer.ts';
import type { Finished } from '../chat/completion.ts';
import type { AnswerForm } from '../routes/answer-form.ts';
import { messagesError } from './error-body.ts';
import { messageEvents } from './message-events.ts';
import { blocksOf, markOf, stopOf, usageOf } from './message-parts.ts';

/** Answers as Anthropic's API shows them. */
export const messagesForm: AnswerForm = {
  api: 'messages',
  show: (asked) => ({ body: (finished) => messageBody(asked, finished), ...messageEvents(asked) }),
  failure: (error, { requestId }) => ({ event: 'error', data: messagesError(error, requestId) }),
  endMark: undefined,
};

function messageBody({ id, chat: { model, ignored } }: AskedChat, finished: Finished): object {
  const { answer, generated } = finished.choices[0]!;
  return {
    ...{ id, type: 'message', role: 'assistant', model },
    content: blocksOf(answer, id),
    ...stopOf(generated),
    usage: usageOf(finished.usage),
    ...markOf(finished, ignored),
  };
}
