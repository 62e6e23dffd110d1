import type { FinishedAnswer } from '../../answer/answer.ts';
import type { AnswerForm } from '../../answer/answer-form.ts';
import type { Conversations } from './conversations.ts';
import type { ResponsesBody } from './fields.ts';
import { CONTEXT_FULL, responseEvents } from './response-events.ts';
import {
  endOf,
  itemsOf,
  lastItemStatus,
  repeatedFields,
  responseEnd,
  responseHead,
} from './response-parts.ts';
import { storedResponse } from './stored-response.ts';
import { functionTools, namespacesOf } from './tools.ts';

/**
 * The form of OpenAI's Responses for one request. A stored response can be continued as soon as the client has
 * it.
 */
export function responsesForm(
  body: ResponsesBody,
  conversations: Pick<Conversations, 'remember'>,
): AnswerForm {
  let events: ReturnType<typeof responseEvents> | undefined;
  const repeated = repeatedFields(body);
  const tools = functionTools(body.tools ?? []);
  const namespaces = namespacesOf(tools);
  return {
    api: 'responses',
    show: (accepted, replay) => {
      const { id, created, chat } = accepted;
      // the log already contains a replayed answer, and its deletion
      const remember = (finished: FinishedAnswer) => {
        if (repeated.store && replay === undefined)
          conversations.remember(id, storedResponse(accepted, finished));
      };
      const { ignored } = chat;
      const head = responseHead({
        id,
        model: chat.model,
        tools,
        repeated: { ...repeated, created_at: created },
      });
      const shown = responseEvents(head, { namespaces, ignored });
      events = shown;
      return {
        body: (finished) => {
          remember(finished);
          const end = endOf(finished, ignored);
          const last = lastItemStatus(end);
          const output = itemsOf(finished.choices[0]!.answer, id, { last, namespaces });
          return { ...head, ...responseEnd(end, output) };
        },
        first: shown.first,
        waiting: shown.waiting,
        next: shown.next,
        last: (finished) => {
          remember(finished);
          return shown.last(finished);
        },
      };
    },
    failure: (error) => events!.failure(error),
    // Codex compacts its history on this event only; an HTTP error ends its turn
    reportsInStream: ({ code }) => code === CONTEXT_FULL,
    endMark: undefined,
  };
}
