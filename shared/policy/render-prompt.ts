import type { ChatMessage } from '../events/chat-message.ts';
import type { ChatTemplate } from './chat-template.ts';
import { type PromptSource, plainPrompt } from './plain-prompt.ts';
import type { Tokenizer } from './tokenizer.ts';

export type { PromptSource } from './plain-prompt.ts';

/**
 * Messages as the template writes them, up to the opening of the answer. Serving and training write prompts
 * by this and nothing else. No text of a client becomes a special token: those are the template's alone. The
 * function throws what the template throws when it refuses the messages.
 */
export function promptRenderer(
  { specialTokens }: Pick<Tokenizer, 'specialTokens'>,
  template: ChatTemplate,
): (source: PromptSource) => string {
  const plain = plainPrompt(specialTokens);
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
