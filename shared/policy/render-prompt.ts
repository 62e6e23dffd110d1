import type { ChatMessage, ContentPart } from '../events/chat-message.ts';
import type { ChatTemplate } from './chat-template.ts';
import { plainText } from './plain-text.ts';
import type { Tokenizer } from './tokenizer.ts';

export type PromptSource = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** Further variables of the template, e.g. `enable_thinking`. */
  readonly variables: Readonly<Record<string, unknown>>;
};

/**
 * Messages as the template writes them, up to the opening of the answer. Serving and training write prompts
 * by this and nothing else. A message is looked through once, however often it is written. The function
 * throws what the template throws when it refuses the messages.
 */
export function promptRenderer(
  { specialTokens }: Pick<Tokenizer, 'specialTokens'>,
  template: ChatTemplate,
): (source: PromptSource) => string {
  const plain = plainText(specialTokens);
  const known = new WeakMap<ChatMessage, ChatMessage>();
  const prepare = (message: ChatMessage): ChatMessage => {
    const prepared = known.get(message) ?? asTemplateKnowsIt(message, plain);
    known.set(message, prepared);
    return prepared;
  };
  return ({ messages, tools, variables }) =>
    template.render({ messages: messages.map(prepare), tools, addGenerationPrompt: true, variables });
}

/** Templates know no `developer`; and nobody's words may pose as the template's own marks. */
function asTemplateKnowsIt(message: ChatMessage, plain: (text: string) => string): ChatMessage {
  const { role, content } = message;
  return {
    ...message,
    role: role === 'developer' ? 'system' : role,
    ...(content === undefined || content === null ? {} : { content: plainContent(content, plain) }),
  };
}

/** Text parts are joined before they are looked through: a mark may be written across two of them. */
function plainContent(content: string | readonly ContentPart[], plain: (text: string) => string) {
  if (typeof content === 'string') return plain(content);
  const isText = content.every(({ type, text }) => type === 'text' && text !== undefined);
  return isText
    ? plain(content.map(({ text }) => text).join(''))
    : content.map((part) => plainPart(part, plain));
}

const plainPart = (part: ContentPart, plain: (text: string) => string): ContentPart =>
  part.text === undefined ? part : { ...part, text: plain(part.text) };
