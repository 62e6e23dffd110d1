import type { ChatTemplate } from '../../../shared/policy/text/chat-template.ts';

/**
 * How a model writes tool calls. `tagged`: JSON between `<tool_call>` and `</tool_call>`, like Qwen and Hermes;
 * `bare`: the answer is JSON with a name and parameters, like Llama 3.
 */
export type ToolCallForm = 'tagged' | 'bare';

/** The form that a chat template describes when it renders a tool; `tagged` if it describes none. */
export function toolCallForm(template: ChatTemplate): ToolCallForm {
  let rendered: string;
  try {
    rendered = template.render({
      messages: [{ role: 'user', content: 'probe' }],
      // The tool has no parameters, so the word occurs only if the template itself writes it.
      tools: [{ type: 'function', function: { name: 'probe', description: 'probe' } }],
      addGenerationPrompt: true,
    });
  } catch {
    return 'tagged';
  }
  return !rendered.includes('<tool_call>') && /"parameters"\s*:/.test(rendered) ? 'bare' : 'tagged';
}
