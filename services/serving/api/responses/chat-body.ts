import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import type { Omissions } from '../request/omissions.ts';
import { chatMessages, instructionsMessage } from './chat-messages.ts';
import type { ResponsesBody } from './fields.ts';
import { chatToolChoice, chatTools } from './tools.ts';

/**
 * Translates a request for a response to a chat request.
 * @param before the conversation that the request continues
 * @throws ServingError
 */
export const chatBody = (
  body: ResponsesBody,
  before: readonly ChatMessage[],
  omissions: Omissions,
): object => ({
  model: body.model,
  ...defined({
    tools: body.tools == null ? undefined : chatTools(body.tools, omissions),
    tool_choice: body.tool_choice == null ? undefined : chatToolChoice(body.tool_choice, omissions),
  }),
  messages: [
    ...(body.instructions ? [instructionsMessage(body.instructions)] : []),
    ...before,
    ...chatMessages(body.input, omissions),
  ],
  max_tokens: body.max_output_tokens,
  stream: body.stream,
  temperature: body.temperature,
  top_p: body.top_p,
  parallel_tool_calls: body.parallel_tool_calls,
  reasoning_effort: body.reasoning?.effort,
  user: body.user,
  ...defined({ response_format: body.text?.format == null ? undefined : formatOf(body.text.format) }),
});

type Format = NonNullable<NonNullable<ResponsesBody['text']>['format']>;

const formatOf = ({ type, name, schema }: Format): object =>
  type === 'json_schema'
    ? {
        type,
        json_schema: {
          ...defined({ name: name == null ? undefined : name, schema: schema == null ? undefined : schema }),
        },
      }
    : { type };
