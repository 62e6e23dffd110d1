import type { GenerationRequest } from '../engine/engine.ts';

/** What is known of the tokens of a request before its prompt is made. */
export type ExpectedTokens = {
  readonly prompt: number;
  /** of all choices together */
  readonly answers: number;
};

const CHARACTERS_PER_TOKEN = 4;
/** Of an answer whose request says no `max_tokens`. */
const SHORT_ANSWER = 16;

/** What tokens follow from. */
export type AskedTokens = Pick<GenerationRequest, 'messages' | 'tools' | 'choices' | 'sampling'>;

/** About as many tokens as a request will take, from its characters and from what it asks for. */
export const expectedTokens = ({ messages, tools, choices, sampling }: AskedTokens): ExpectedTokens => ({
  prompt: Math.ceil(charactersOf([messages, tools]) / CHARACTERS_PER_TOKEN),
  answers: choices * (sampling.maxTokens ?? SHORT_ANSWER),
});

/** Of all text in a value of JSON. */
function charactersOf(value: unknown): number {
  let characters = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const part = open.pop();
    if (typeof part === 'string') characters += part.length;
    else if (typeof part === 'object' && part !== null)
      for (const item of Object.values(part)) open.push(item);
  }
  return characters;
}
