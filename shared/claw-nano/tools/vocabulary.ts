import type { Tokenizer } from '../../policy/text/tokenizer.ts';
import { callTokens, vocabularySize } from '../model-files.ts';

/** The tokenizer's file with the tokens of calls after those of claw-nano; no text of a chat changes its ids. */
export const withCallTokens = (
  tokenizerJson: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> => ({
  ...tokenizerJson,
  added_tokens: [
    ...(tokenizerJson.added_tokens as readonly object[]),
    ...callTokens.map((content, index) => ({
      id: vocabularySize + index,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: false,
    })),
  ],
});

const EMBEDDING = 'model.embed_tokens.weight';

/** Gives each added token the mean row of the characters that it stands for. Changes both maps. */
export function withRowsOfCallTokens(
  weights: Map<string, Float32Array>,
  shapes: Map<string, readonly number[]>,
  tokenizer: Tokenizer,
): void {
  const known = weights.get(EMBEDDING)!;
  const [rows, width] = shapes.get(EMBEDDING) as readonly [number, number];
  const all = new Float32Array((rows + callTokens.length) * width);
  all.set(known);
  callTokens.forEach((token, index) => {
    const parts = [...token].flatMap((character) => tokenizer.encode(character));
    for (let column = 0; column < width; column++) {
      const sum = parts.reduce((total, id) => total + known[id * width + column]!, 0);
      all[(rows + index) * width + column] = sum / parts.length;
    }
  });
  weights.set(EMBEDDING, all);
  shapes.set(EMBEDDING, [rows + callTokens.length, width]);
}
