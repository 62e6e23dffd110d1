import type { AskedChat } from '../chat/answer.ts';
import type { Finished } from '../chat/completion.ts';
import type { AnswerForm } from '../routes/answer-form.ts';
import type { Conversations } from './conversations.ts';
import type { ResponsesBody } from './fields.ts';
import { responseEvents } from './response-events.ts';
import { endOf, itemsOf, lastItemStatus, responseEnd, responseHead, saidBack } from './response-parts.ts';
import { toldResponse } from './told-response.ts';

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
  const remember = (asked: AskedChat, finished: Finished) => {
    if (said.store) conversations.remember(asked.id, toldResponse(asked, finished));
  };
  return {
    api: 'responses',
    show: (asked) => {
      const { id, created, chat } = asked;
      const tools = body.tools ?? [];
      const head = responseHead({ id, model: chat.model, tools, said: { ...said, created_at: created } });
      const shown = responseEvents(head);
      events = shown;
      return {
        body: (finished) => {
          remember(asked, finished);
          const end = endOf(finished);
          const output = itemsOf(finished.choices[0]!.answer, id, lastItemStatus(end));
          return { ...head, ...responseEnd(end, output) };
        },
        first: shown.first,
        next: shown.next,
        last: (finished) => {
          remember(asked, finished);
          return shown.last(finished);
        },
      };
    },
    failure: (error) => events!.failure(error),
    endMark: undefined,
  };
}
