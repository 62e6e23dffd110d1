import type { ChatTemplate } from '../../../shared/policy/chat-template.ts';

/**
 * How a model writes its calls. `tagged`: JSON between `<tool_call>` and `</tool_call>`, as Qwen and Hermes
 * do; `bare`: the answer is JSON with a name and parameters, as Llama 3's is.
 */
export type ToolCallForm = 'tagged' | 'bare';

/** The form that a chat template teaches, found by giving it a tool; `tagged` where it teaches none. */
export function toolCallForm(template: ChatTemplate): ToolCallForm {
  let taught: string;
  try {
    taught = template.render({
      messages: [{ role: 'user', content: 'probe' }],
      // Without parameters of its own: the word stands in the text only where the template says it.
      tools: [{ type: 'function', function: { name: 'probe', description: 'probe' } }],
      addGenerationPrompt: true,
    });
  } catch {
    return 'tagged';
  }
  return !taught.includes('<tool_call>') && /"parameters"\s*:/.test(taught) ? 'bare' : 'tagged';
}
