import type { Finished } from '../chat/completion.ts';
import type { AnswerForm } from '../routes/answer-form.ts';
import type { Conversations } from './conversations.ts';
import type { ResponsesBody } from './fields.ts';
import { responseEvents } from './response-events.ts';
import { endOf, itemsOf, lastItemStatus, responseEnd, responseHead, saidBack } from './response-parts.ts';
import { toldResponse } from './told-response.ts';
import { keptTools, namespacesOf } from './tools.ts';

/**
 * The answer to one request as OpenAI's Responses show it; where it is stored, it can be continued as soon as
 * it is told.
 */
export function responsesForm(
  body: ResponsesBody,
  conversations: Pick<Conversations, 'remember'>,
): AnswerForm {
  let events: ReturnType<typeof responseEvents> | undefined;
  const said = saidBack(body);
  const tools = keptTools(body.tools ?? []);
  const namespaces = namespacesOf(tools);
  return {
    api: 'responses',
    show: (asked, again) => {
      const { id, created, chat } = asked;
      // what was given before stands in the log, and so does its deletion
      const remember = (finished: Finished) => {
        if (said.store && again === undefined) conversations.remember(id, toldResponse(asked, finished));
      };
      const { ignored } = chat;
      const head = responseHead({ id, model: chat.model, tools, said: { ...said, created_at: created } });
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
        next: shown.next,
        last: (finished) => {
          remember(finished);
          return shown.last(finished);
        },
      };
    },
    failure: (error) => events!.failure(error),
    endMark: undefined,
  };
}
