import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { ServingError } from '../../errors.ts';
import { DOCUMENT_PLACEHOLDER, IMAGE_PLACEHOLDER, type Omissions } from './omissions.ts';
import type { ChatRequestBody } from './request-fields.ts';

type BodyMessage = ChatRequestBody['messages'][number];
type BodyPart = Extract<BodyMessage['content'], readonly unknown[]>[number];
type BodyCall = NonNullable<BodyMessage['tool_calls']>[number];

/** Includes the types of OpenAI's Responses. */
const textTypes: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text']);
const placeholders: ReadonlyMap<string, string> = new Map([
  ['image_url', IMAGE_PLACEHOLDER],
  ['input_image', IMAGE_PLACEHOLDER],
  ['image', IMAGE_PLACEHOLDER],
  ['file', DOCUMENT_PLACEHOLDER],
  ['input_file', DOCUMENT_PLACEHOLDER],
]);

/**
 * Messages as the policy reads them. An unchanged message stays the same object.
 * @throws ServingError UNSUPPORTED_PARAMETER for content that is not text, INVALID_REQUEST
 */
export function messagesOf(messages: readonly BodyMessage[], omissions: Omissions): readonly ChatMessage[] {
  let calledAt: number | undefined; // index of the last `function_call`, which a `function` message answers
  return messages.map((message, index) => {
    if (message.audio != null) {
      const param = `messages[${index}].audio`;
      throw ServingError.UNSUPPORTED_PARAMETER({ param, detail: 'messages are text.' });
    }
    if (message.function_call != null) calledAt = index;
    return withoutNulls(inNewForm(withTexts(message, index, omissions), index, calledAt));
  });
}

/** The message with only text parts, and with call arguments as JSON text. */
function withTexts(message: BodyMessage, index: number, omissions: Omissions): BodyMessage {
  const { content, tool_calls: calls, role } = message;
  if (role === 'system' || role === 'developer') {
    if (content == null) return { ...message, content: '' }; // some clients send an empty system message
  }
  const parts = Array.isArray(content)
    ? mapUnlessSame(content, (part, at) => partOf(part, `messages[${index}].content[${at}]`, omissions))
    : content;
  const texts = calls == null ? calls : mapUnlessSame(calls, withTextArguments);
  return parts === content && texts === calls ? message : { ...message, content: parts, tool_calls: texts };
}

function partOf(part: BodyPart, param: string, omissions: Omissions): BodyPart {
  const { type } = part;
  if (type === 'refusal' && typeof part.refusal === 'string') return part;
  const placeholder = placeholders.get(type);
  if (placeholder !== undefined) {
    omissions.file(param, type);
    return { type: 'text', text: placeholder };
  }
  if (!textTypes.has(type))
    throw ServingError.UNSUPPORTED_PARAMETER({
      param,
      detail: `parts of type ${type.slice(0, 40)}; only text is supported.`,
    });
  if (typeof part.text !== 'string')
    throw ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': a text part requires a text.` });
  return type === 'text' ? part : { ...part, type: 'text' };
}

const withTextArguments = (call: BodyCall): BodyCall =>
  typeof call.function.arguments === 'string'
    ? call
    : { ...call, function: { ...call.function, arguments: JSON.stringify(call.function.arguments) } };

/** The message with a `function_call` or `function` result in the form of `tools`. */
function inNewForm(message: BodyMessage, index: number, calledAt: number | undefined): BodyMessage {
  const { function_call: oldCall, ...others } = message;
  if (message.role === 'function') {
    const answers = calledAt === undefined ? {} : { tool_call_id: oldCallId(calledAt) };
    return { ...others, ...answers, role: 'tool', content: message.content ?? '' };
  }
  if (oldCall == null) return message;
  if (others.tool_calls != null && others.tool_calls.length > 0) return others as BodyMessage; // the same call twice
  const call = withTextArguments({ id: oldCallId(index), type: 'function', function: oldCall });
  return { ...others, content: message.content ?? null, tool_calls: [call] };
}

/** A `function_call` has no id, but its index in the history is the same in each request. */
const oldCallId = (index: number): string => `call_${index}`;

const isKept = (name: string, value: unknown): boolean =>
  value !== null || name === 'content' || name === 'reasoning_content';

function withoutNulls(message: BodyMessage): ChatMessage {
  const fields = Object.entries(message);
  const kept = fields.filter(([name, value]) => isKept(name, value));
  return (kept.length === fields.length ? message : Object.fromEntries(kept)) as ChatMessage;
}

/** Like `map`, but returns the same list if no value changes. */
function mapUnlessSame<Value>(values: Value[], change: (value: Value, at: number) => Value): Value[] {
  const changed = values.map(change);
  return changed.every((value, at) => value === values[at]) ? values : changed;
}
