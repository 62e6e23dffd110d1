import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { ServingError } from '../errors.ts';
import { IMAGE_PLACEHOLDER, type Omissions } from './omissions.ts';
import type { ChatRequestBody } from './request-fields.ts';

type BodyMessage = ChatRequestBody['messages'][number];
type BodyPart = Extract<BodyMessage['content'], readonly unknown[]>[number];
type BodyCall = NonNullable<BodyMessage['tool_calls']>[number];

/** Those of OpenAI's Responses mean the same. */
const textTypes: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text']);
const imageTypes: ReadonlySet<string> = new Set(['image_url', 'input_image', 'image']);

/**
 * Messages as the policy reads them; one of which nothing is changed stays the same object.
 * @throws ServingError UNSUPPORTED_PARAMETER for what is no text, INVALID_REQUEST
 */
export function messagesOf(messages: readonly BodyMessage[], omissions: Omissions): readonly ChatMessage[] {
  let calledAt: number | undefined; // the last call of the old form, which a `function` message answers
  return messages.map((message, index) => {
    if (message.audio != null) {
      const param = `messages[${index}].audio`;
      throw ServingError.UNSUPPORTED_PARAMETER({ param, detail: 'messages are text.' });
    }
    if (message.function_call != null) calledAt = index;
    return withoutNulls(inNewForm(withTexts(message, index, omissions), index, calledAt));
  });
}

/** Content of text parts alone, and calls whose arguments are texts. */
function withTexts(message: BodyMessage, index: number, omissions: Omissions): BodyMessage {
  const { content, tool_calls: calls, role } = message;
  if (role === 'system' || role === 'developer') {
    if (content == null) return { ...message, content: '' }; // some clients send one without words
  }
  const parts = Array.isArray(content)
    ? unlessSame(content, (part, at) => partOf(part, `messages[${index}].content[${at}]`, omissions))
    : content;
  const texts = calls == null ? calls : unlessSame(calls, withTextArguments);
  return parts === content && texts === calls ? message : { ...message, content: parts, tool_calls: texts };
}

function partOf(part: BodyPart, param: string, omissions: Omissions): BodyPart {
  const { type } = part;
  if (type === 'refusal' && typeof part.refusal === 'string') return part;
  if (imageTypes.has(type)) {
    omissions.image(param, type);
    return { type: 'text', text: IMAGE_PLACEHOLDER };
  }
  if (!textTypes.has(type))
    throw ServingError.UNSUPPORTED_PARAMETER({
      param,
      detail: `parts of type ${type.slice(0, 40)}; text only.`,
    });
  if (typeof part.text !== 'string')
    throw ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': a text part needs a text.` });
  return type === 'text' ? part : { ...part, type: 'text' };
}

const withTextArguments = (call: BodyCall): BodyCall =>
  typeof call.function.arguments === 'string'
    ? call
    : { ...call, function: { ...call.function, arguments: JSON.stringify(call.function.arguments) } };

/** A call or its result in the form that they had before there were `tools`. */
function inNewForm(message: BodyMessage, index: number, calledAt: number | undefined): BodyMessage {
  const { function_call: called, ...rest } = message;
  if (message.role === 'function') {
    const answers = calledAt === undefined ? {} : { tool_call_id: oldCallId(calledAt) };
    return { ...rest, ...answers, role: 'tool', content: message.content ?? '' };
  }
  if (called == null) return message;
  if (rest.tool_calls != null && rest.tool_calls.length > 0) return rest as BodyMessage; // it says the same twice
  const call = withTextArguments({ id: oldCallId(index), type: 'function', function: called });
  return { ...rest, content: message.content ?? null, tool_calls: [call] };
}

/** Calls of the old form have no id; their place in the history is the same in each request. */
const oldCallId = (index: number): string => `call_${index}`;

const isKept = (name: string, value: unknown): boolean =>
  value !== null || name === 'content' || name === 'reasoning_content';

function withoutNulls(message: BodyMessage): ChatMessage {
  const fields = Object.entries(message);
  const kept = fields.filter(([name, value]) => isKept(name, value));
  return (kept.length === fields.length ? message : Object.fromEntries(kept)) as ChatMessage;
}

/** The same list where each of its values stays as it is. */
function unlessSame<Value>(values: Value[], change: (value: Value, at: number) => Value): Value[] {
  const changed = values.map(change);
  return changed.every((value, at) => value === values[at]) ? values : changed;
}
