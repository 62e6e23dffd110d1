import type { ChatMessage } from '../events/chat-message.ts';
import type { ChatTemplate } from './chat-template.ts';
import { type PromptSource, plainPrompt, type ReservedTokens } from './plain-prompt.ts';

export type { PromptSource } from './plain-prompt.ts';

/**
 * Messages as the template writes them, up to the opening of the answer. Serving and training write prompts
 * by this and nothing else. No text of a client becomes a control token: those are the template's alone. Only
 * an earlier answer may hold its `<think>` and `<tool_call>`, which templates look for. The function throws what the template throws when it refuses the messages.
 */
export function promptRenderer(
  tokens: ReservedTokens,
  template: ChatTemplate,
): (source: PromptSource) => string {
  const plain = plainPrompt(tokens);
  return (source) => {
    const { messages, tools, variables } = plain(source);
    return template.render({
      messages: messages.map(asTemplateKnowsIt),
      tools,
      addGenerationPrompt: true,
      variables,
    });
  };
}

/** Templates know no `developer`. */
const asTemplateKnowsIt = (message: ChatMessage): ChatMessage =>
  message.role === 'developer' ? { ...message, role: 'system' } : message;
