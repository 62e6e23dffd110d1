import type { Omissions } from '../chat/omissions.ts';
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
export const chatBody = (body: unknown, omissions: Omissions): object =>
  translate(readFields(messagesBody, body, omissions), omissions);

/** The same, of a request that asks for the number of its tokens. @throws ServingError */
export const countedChatBody = (body: unknown, omissions: Omissions): object =>
  translate(readFields(countTokensBody, body, omissions), omissions);

const translate = (body: MessagesBody, omissions: Omissions): object => ({
  model: body.model,
  ...toolsOf(body, omissions),
  messages: chatMessages(body, omissions),
  max_tokens: body.max_tokens,
  stream: body.stream,
  temperature: body.temperature,
  top_p: body.top_p,
  top_k: body.top_k,
  stop: body.stop_sequences,
  ...(body.thinking == null ? {} : { enable_thinking: body.thinking.type !== 'disabled' }),
  user: body.metadata?.user_id,
  ...(body.output_config?.format == null ? {} : { response_format: formatOf(body.output_config.format) }),
});

const formatOf = ({ type, schema }: { readonly type: string; readonly schema: object }): object => ({
  type,
  json_schema: { schema },
});

/** Those that the client runs, though Anthropic says what they take: the policy does not know how to call them. */
const DEFINED_ELSEWHERE = /^(?:bash|text_editor|computer|memory)_/;

function toolsOf({ tools, tool_choice: choice }: MessagesBody, omissions: Omissions): object {
  const own = tools?.flatMap((tool, at) => {
    const { type } = tool;
    if (type == null || type === 'custom') return [toolOf(tool, `tools.${at}`)];
    if (DEFINED_ELSEWHERE.test(type)) {
      const detail = `the client runs ${type.slice(0, 40)}, but sends no schema of its input.`;
      throw ServingError.UNSUPPORTED_PARAMETER({ param: `tools.${at}.type`, detail });
    }
    omissions.tool(`tools.${at}`, type);
    return [];
  });
  return {
    ...(own === undefined ? {} : { tools: own }),
    ...(choice == null ? {} : toolChoiceOf(choice, tools ?? [])),
  };
}

function toolOf({ name, description, input_schema: parameters }: Tool, at: string): object {
  const missing = name === undefined ? 'name' : parameters === undefined ? 'input_schema' : undefined;
  if (missing !== undefined) {
    const param = `${at}.${missing}`;
    const detail = `${param}: a tool needs a name and a schema of its input.`;
    throw ServingError.INVALID_REQUEST({ param, detail });
  }
  return {
    type: 'function',
    function: { name, ...(description == null ? {} : { description }), parameters },
  };
}

function toolChoiceOf(choice: ToolChoice, tools: readonly Tool[]): object {
  if (choice.type === 'none') return { tool_choice: 'none' };
  const oneAtMost = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {};
  if (choice.type !== 'tool')
    return { tool_choice: choice.type === 'any' ? 'required' : 'auto', ...oneAtMost };
  const called = tools.filter(({ name }) => name === choice.name);
  if (called.length > 0 && called.every(({ type }) => type != null && type !== 'custom')) {
    const detail = `tool_choice: ${choice.name.slice(0, 100)} is a tool that a server would run, and none does here.`;
    throw ServingError.INVALID_REQUEST({ param: 'tool_choice', detail });
  }
  return { tool_choice: { type: 'function', function: { name: choice.name } }, ...oneAtMost };
}
