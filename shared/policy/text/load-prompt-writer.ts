import { loadChatTemplate } from './chat-template.ts';
import { closeReasoning } from './reasoning.ts';
import { type PromptSource, promptRenderer } from './render-prompt.ts';
import { loadTokenizer } from './tokenizer.ts';

/** Converts messages to the token ids of a prompt. Throws the template's error if it rejects them. */
export type PromptWriter = (source: PromptSource, options?: PromptOptions) => readonly number[];

/** `reasons: false`: the answer has no reasoning. Default: the template and its variables decide. */
type PromptOptions = { readonly reasons?: boolean };

/** A model folder's tokenizer and chat template as one function. */
export async function loadPromptWriter(folder: string): Promise<PromptWriter> {
  const tokenizer = await loadTokenizer(folder);
  const render = promptRenderer(tokenizer, await loadChatTemplate(folder));
  return (source, { reasons = true } = {}) => {
    if (reasons) return tokenizer.encode(render(source));
    const variables = { ...source.variables, enable_thinking: false };
    return tokenizer.encode(closeReasoning(render({ ...source, variables })));
  };
}
