import type { AskedChat } from '../chat/answer.ts';
import type { Finished } from '../chat/completion.ts';
import type { AnswerForm } from '../routes/answer-form.ts';
import { withoutInstructions } from './chat-messages.ts';
import type { Conversations } from './conversations.ts';
import type { ResponsesBody } from './fields.ts';
import { responseEvents } from './response-events.ts';
import { itemsOf, responseEnd, responseHead } from './response-parts.ts';

/** The answer to one request as OpenAI's Responses show it; it can be continued as soon as it is told. */
export function responsesForm(
  body: ResponsesBody,
  conversations: Pick<Conversations, 'remember'>,
): AnswerForm {
  let events: ReturnType<typeof responseEvents> | undefined;
  const remember = ({ id, keyId, chat }: AskedChat, { choices }: Finished) => {
    const messages = [...withoutInstructions(chat.generation.messages), choices[0]!.answer];
    conversations.remember(id, { keyId, messages });
  };
  return {
    api: 'responses',
    show: (asked) => {
      const head = responseHead(asked, body);
      const shown = responseEvents(head);
      events = shown;
      return {
        body: (finished) => {
          remember(asked, finished);
          return { ...head, ...responseEnd(finished, itemsOf(finished.choices[0]!.answer, asked.id)) };
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
