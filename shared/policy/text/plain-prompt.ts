import type { ChatMessage, ContentPart, ToolCall } from '../../events/chat-message.ts';
import { defined } from '../../lang/defined.ts';
import { parseJson } from '../../lang/json.ts';
import { plainText, plainValue } from './plain-text.ts';
import type { Tokenizer } from './tokenizer.ts';

export type PromptSource = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** Further variables of the template, e.g. `enable_thinking`. */
  readonly variables: Readonly<Record<string, unknown>>;
};

type Plain = (text: string) => string;

/** Tokens that client text must not become. */
export type ReservedTokens = Pick<Tokenizer, 'specialTokens' | 'controlTokens'>;

/**
 * Makes control tokens plain text in every field that a client can write: contents, names, calls, reasoning, tools
 * and variables. An answer's content and reasoning may contain control tokens that are not special,
 * because templates look for `</think>` in them. Each message and tool is processed once and cached. Lists without
 * changes are returned as they are.
 */
export function plainPrompt({
  specialTokens,
  controlTokens,
}: ReservedTokens): (source: PromptSource) => PromptSource {
  const plain = plainText(controlTokens);
  const answerPlain = plainText(specialTokens);
  const messageOf = once((message: ChatMessage) =>
    plainMessage(message, plain, message.role === 'assistant' ? answerPlain : plain),
  );
  const toolOf = once((tool: object) => plainValue(tool, plain));
  return ({ messages, tools, variables }) => ({
    messages: mapped(messages, messageOf),
    tools: mapped(tools, (tool) => (isObject(tool) ? toolOf(tool) : plainValue(tool, plain))),
    variables: plainValue(variables, plain),
  });
}

/** @param plainSaid for content and reasoning */
function plainMessage(message: ChatMessage, plain: Plain, plainSaid: Plain): ChatMessage {
  const { content, reasoning_content: reasoning, tool_calls: calls, ...rest } = message;
  const plainRest = plainValue(rest, plain);
  const plainReasoning = plainValue(reasoning, plainSaid);
  const plainBody = Array.isArray(content) ? plainParts(content, plainSaid) : plainValue(content, plainSaid);
  const plainCalls = Array.isArray(calls) ? mapped(calls, (call) => plainCall(call, plain)) : calls;
  const isSame = plainReasoning === reasoning && plainBody === content && plainCalls === calls;
  if (isSame && plainRest === rest) return message;
  return {
    ...(plainRest as ChatMessage),
    ...defined({
      reasoning_content: reasoning === undefined ? undefined : plainReasoning,
      content: content === undefined ? undefined : plainBody,
      tool_calls: calls === undefined ? undefined : (plainCalls as ToolCall[]),
    }),
  };
}

/** Texts are joined first: a special token may be split across two parts. */
function plainParts(parts: ContentPart[], plain: Plain): ContentPart[] {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []));
  const text = texts.join('');
  const plainWhole = plain(text);
  if (plainWhole === text) return plainValue(parts, plain);
  const others = parts.filter((part) => part.type !== 'text' || part.text === undefined);
  return [{ type: 'text', text: plainWhole }, ...others.map((part) => plainValue(part, plain))];
}

function plainCall(call: ToolCall, plain: Plain): ToolCall {
  const made = plainValue(call, plain);
  const text: unknown = call.function.arguments;
  const given = typeof text === 'string' ? plainArguments(text, plain) : text;
  if (given === made.function.arguments) return made;
  return { ...made, function: { ...made.function, arguments: given as string } };
}

/** Many templates parse the arguments of a call: JSON can hide a special token behind `\u003c` or `<\/`. */
function plainArguments(text: string, plain: Plain): string {
  const parsed = text.includes('\\') ? parseJson(text) : undefined;
  const made = plainValue(parsed, plain);
  return plain(made === parsed ? text : JSON.stringify(made));
}

function mapped<Item>(items: readonly Item[], make: (item: Item) => Item): readonly Item[] {
  const made = items.map(make);
  return made.every((item, at) => item === items[at]) ? items : made;
}

function once<Item extends object>(make: (item: Item) => Item): (item: Item) => Item {
  const known = new WeakMap<Item, Item>();
  return (item) => {
    const made = known.get(item) ?? make(item);
    known.set(item, made);
    return made;
  };
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
