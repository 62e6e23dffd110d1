import { ServingError } from '../errors.ts';
import { chatMessages } from './chat-messages.ts';
import {
  countTokensBody,
  type MessagesBody,
  messagesBody,
  readFields,
  type Tool,
  type ToolChoice,
} from './fields.ts';

/** A request of Anthropic's API as the chat request that asks for the same. @throws ServingError */
export const chatBody = (body: unknown): object => translate(readFields(messagesBody, body));

/** The same, of a request that asks for the number of its tokens. @throws ServingError */
export const countedChatBody = (body: unknown): object => translate(readFields(countTokensBody, body));

const translate = (body: MessagesBody): object => ({
  model: body.model,
  messages: chatMessages(body),
  max_tokens: body.max_tokens,
  stream: body.stream,
  temperature: body.temperature,
  top_p: body.top_p,
  top_k: body.top_k,
  stop: body.stop_sequences,
  ...(body.tools == null ? {} : { tools: body.tools.map(toolOf) }),
  ...(body.tool_choice == null ? {} : toolChoiceOf(body.tool_choice)),
  ...(body.thinking == null ? {} : { enable_thinking: body.thinking.type !== 'disabled' }),
  user: body.metadata?.user_id,
  ...(body.output_config?.format == null ? {} : { response_format: formatOf(body.output_config.format) }),
});

const formatOf = ({ type, schema }: { readonly type: string; readonly schema: object }): object => ({
  type,
  json_schema: { schema },
});

function toolOf({ type, name, description, input_schema: parameters }: Tool, at: number): object {
  if (type != null && type !== 'custom') {
    const detail = `${type.slice(0, 40)} is none of the client's own tools.`;
    throw ServingError.UNSUPPORTED_PARAMETER({ param: `tools.${at}.type`, detail });
  }
  if (parameters === undefined) {
    const param = `tools.${at}.input_schema`;
    throw ServingError.INVALID_REQUEST({ param, detail: `${param}: a tool needs a schema of its input.` });
  }
  return {
    type: 'function',
    function: { name, ...(description == null ? {} : { description }), parameters },
  };
}

function toolChoiceOf(choice: ToolChoice): object {
  if (choice.type === 'none') return { tool_choice: 'none' };
  const oneAtMost = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {};
  const named = choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : undefined;
  return { tool_choice: named ?? (choice.type === 'any' ? 'required' : 'auto'), ...oneAtMost };
}
