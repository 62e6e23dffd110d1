import { defined } from '../../../../shared/lang/defined.ts';
import { ServingError } from '../../errors.ts';
import type { Omissions } from '../request/omissions.ts';
import { chatMessages } from './chat-messages.ts';
import {
  countTokensBody,
  type MessagesBody,
  messagesBody,
  readFields,
  type Tool,
  type ToolChoice,
} from './fields.ts';

/** Translates a request of Anthropic's API to a chat request. @throws ServingError */
export function chatBody(body: unknown, omissions: Omissions): object {
  const fields = readFields(messagesBody, body, omissions);
  refusePrefill(fields);
  return translate(fields, omissions);
}

/**
 * Translates a token count request of Anthropic's API to a chat request. The history may end with an answer.
 * @throws ServingError
 */
export const countedChatBody = (body: unknown, omissions: Omissions): object =>
  translate(readFields(countTokensBody, body, omissions), omissions);

function refusePrefill({ messages }: MessagesBody): void {
  if (messages.at(-1)!.role !== 'assistant') return;
  const detail = 'the last message must not have the role assistant; prefilled answers are not available.';
  throw ServingError.UNSUPPORTED_PARAMETER({ param: `messages.${messages.length - 1}`, detail });
}

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
  ...defined({ enable_thinking: body.thinking == null ? undefined : body.thinking.type !== 'disabled' }),
  user: body.metadata?.user_id,
  ...formatOf(body),
});

function formatOf({ output_config: config, output_format: older }: MessagesBody): object {
  const format = config?.format ?? older;
  return format == null
    ? {}
    : { response_format: { type: format.type, json_schema: { schema: format.schema } } };
}

/** The field of a valid body that requires a format, for refusals of it. */
export function formatParamOf(body: unknown): string {
  const { output_config: config, output_format: older } = body as Partial<MessagesBody>;
  return config?.format == null && older != null ? 'output_format' : 'output_config.format';
}

/** Tools that the client runs and Anthropic defines: the request has no schema, so the policy cannot call them. */
const DEFINED_BY_ANTHROPIC = /^(?:bash|text_editor|computer|memory)_/;

function toolsOf({ tools, tool_choice: choice }: MessagesBody, omissions: Omissions): object {
  const callable = tools?.flatMap((tool, at) => {
    const { type } = tool;
    if (type == null || type === 'custom') return [toolOf(tool, `tools.${at}`)];
    if (DEFINED_BY_ANTHROPIC.test(type)) {
      const detail = `tools of type ${type.slice(0, 40)} have no input schema in the request, so the policy cannot call them.`;
      throw ServingError.UNSUPPORTED_PARAMETER({ param: `tools.${at}.type`, detail });
    }
    omissions.tool(`tools.${at}`, type);
    return [];
  });
  return {
    ...defined({ tools: callable }),
    ...(choice == null ? {} : toolChoiceOf(choice, tools ?? [])),
  };
}

function toolOf({ name, description, input_schema: parameters }: Tool, at: string): object {
  const missing = name === undefined ? 'name' : parameters === undefined ? 'input_schema' : undefined;
  if (missing !== undefined) {
    const param = `${at}.${missing}`;
    const detail = `${param}: a tool requires a name and an input schema.`;
    throw ServingError.INVALID_REQUEST({ param, detail });
  }
  return {
    type: 'function',
    function: {
      name,
      ...defined({ description: description == null ? undefined : description }),
      parameters,
    },
  };
}

function toolChoiceOf(choice: ToolChoice, tools: readonly Tool[]): object {
  if (choice.type === 'none') return { tool_choice: 'none' };
  const parallelCalls = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {};
  if (choice.type !== 'tool')
    return { tool_choice: choice.type === 'any' ? 'required' : 'auto', ...parallelCalls };
  const named = tools.filter(({ name }) => name === choice.name);
  if (named.length > 0 && named.every(({ type }) => type != null && type !== 'custom')) {
    const detail = `tool_choice: ${choice.name.slice(0, 100)} is a tool for the server to run, and this server runs no tools.`;
    throw ServingError.INVALID_REQUEST({ param: 'tool_choice', detail });
  }
  return { tool_choice: { type: 'function', function: { name: choice.name } }, ...parallelCalls };
}
