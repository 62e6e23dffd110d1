import { loadChatTemplate } from './chat-template.ts';
import { type PromptSource, promptRenderer } from './render-prompt.ts';
import { loadTokenizer } from './tokenizer.ts';

/** Converts messages to the token ids of a prompt. Throws the template's error if it rejects them. */
export type PromptWriter = (source: PromptSource) => readonly number[];

/** A model folder's tokenizer and chat template as one function. */
export async function loadPromptWriter(folder: string): Promise<PromptWriter> {
  const tokenizer = await loadTokenizer(folder);
  const render = promptRenderer(tokenizer, await loadChatTemplate(folder));
  return (source) => tokenizer.encode(render(source));
}
