import type { ChatMessage } from '../../events/chat-message.ts';
import type { ChatTemplate } from './chat-template.ts';
import { type PromptSource, plainPrompt, type ReservedTokens } from './plain-prompt.ts';

export type { PromptSource } from './plain-prompt.ts';

/**
 * Renders messages with the template, up to the opening of the answer. Serving and training both render prompts
 * with this function. Client text never becomes a control token; only the template writes those. Only an earlier
 * answer may contain `<think>` and `<tool_call>`, which templates look for. The returned function throws the
 * template's error if it rejects the messages.
 */
export function promptRenderer(
  tokens: ReservedTokens,
  template: ChatTemplate,
): (source: PromptSource) => string {
  const plain = plainPrompt(tokens);
  return (source) => {
    const { messages, tools, variables } = plain(source);
    return template.render({
      messages: messages.map(withTemplateRole),
      tools,
      addGenerationPrompt: true,
      variables,
    });
  };
}

/** Templates do not have the role `developer`. */
const withTemplateRole = (message: ChatMessage): ChatMessage =>
  message.role === 'developer' ? { ...message, role: 'system' } : message;
