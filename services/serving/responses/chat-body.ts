import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { Omissions } from '../chat/omissions.ts';
import { chatMessages, instructionsMessage } from './chat-messages.ts';
import type { ResponsesBody } from './fields.ts';
import { chatToolChoice, chatTools } from './tools.ts';

/**
 * A request for a response as the chat request that asks for the same.
 * @param before the conversation that it continues
 * @throws ServingError
 */
export const chatBody = (
  body: ResponsesBody,
  before: readonly ChatMessage[],
  omissions: Omissions,
): object => ({
  model: body.model,
  ...(body.tools == null ? {} : { tools: chatTools(body.tools, omissions) }),
  ...(body.tool_choice == null ? {} : { tool_choice: chatToolChoice(body.tool_choice, omissions) }),
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
  user: body.user,
  ...(body.text?.format == null ? {} : { response_format: formatOf(body.text.format) }),
});

type Format = NonNullable<NonNullable<ResponsesBody['text']>['format']>;

const formatOf = ({ type, name, schema }: Format): object =>
  type === 'json_schema'
    ? { type, json_schema: { ...(name == null ? {} : { name }), ...(schema == null ? {} : { schema }) } }
    : { type };
