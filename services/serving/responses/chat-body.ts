import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { ServingError } from '../errors.ts';
import { chatMessages, instructionsMessage } from './chat-messages.ts';
import type { ResponsesBody, Tool, ToolChoice } from './fields.ts';

/**
 * A request for a response as the chat request that asks for the same.
 * @param before the conversation that it continues
 * @throws ServingError
 */
export const chatBody = (body: ResponsesBody, before: readonly ChatMessage[]): object => ({
  model: body.model,
  messages: [
    ...(body.instructions ? [instructionsMessage(body.instructions)] : []),
    ...before,
    ...chatMessages(body.input),
  ],
  max_tokens: body.max_output_tokens,
  stream: body.stream,
  temperature: body.temperature,
  top_p: body.top_p,
  ...(body.tools == null ? {} : { tools: body.tools.map(toolOf) }),
  ...(body.tool_choice == null ? {} : { tool_choice: toolChoiceOf(body.tool_choice) }),
  parallel_tool_calls: body.parallel_tool_calls,
  user: body.user,
  ...(body.text?.format == null ? {} : { response_format: formatOf(body.text.format) }),
});

type Format = NonNullable<NonNullable<ResponsesBody['text']>['format']>;

const formatOf = ({ type, name, schema }: Format): object =>
  type === 'json_schema'
    ? { type, json_schema: { ...(name == null ? {} : { name }), ...(schema == null ? {} : { schema }) } }
    : { type };

function toolOf({ type, name, description, parameters, strict }: Tool, at: number): object {
  if (type !== 'function') {
    const detail = `${type.slice(0, 40)} is none of the client's own functions.`;
    throw ServingError.UNSUPPORTED_PARAMETER({ param: `tools[${at}].type`, detail });
  }
  if (name === undefined) {
    const param = `tools[${at}].name`;
    throw ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': a function needs a name.` });
  }
  const more = Object.entries({ description, parameters, strict }).filter(([, value]) => value != null);
  return { type, function: { name, ...Object.fromEntries(more) } };
}

function toolChoiceOf(choice: ToolChoice): string | object {
  if (typeof choice === 'string') return choice;
  const named = ({ name }: { readonly name: string }) => ({ type: 'function', function: { name } });
  return choice.type === 'function'
    ? named(choice)
    : { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools: choice.tools.map(named) } };
}
