import { type ChatMessage, contentText, isHuman } from '../../../shared/chat/message.ts';
import type { Tokenizer } from '../../../shared/policy/text/tokenizer.ts';

/** `estimated`: the text exceeds the budget, and only its beginning was tokenized. */
export type TokenCount =
  | { readonly kind: 'whole'; readonly ids: readonly number[] }
  | { readonly kind: 'estimated'; readonly tokens: number };

/** Characters to tokenize first, per token of the budget: more than most text has. */
const FIRST_CHARACTERS = 6;
/** Tokens that a text may gain because it is cut within a word. */
const CUT_TOKENS = 64;

/**
 * Counts the tokens of a text that should fit `budget`. Tokenizing takes a second per megabyte, so it stops as
 * soon as the text is sure to exceed the budget, and estimates the rest.
 */
export function countTokens(encode: Tokenizer['encode'], text: string, budget: number): TokenCount {
  for (let length = FIRST_CHARACTERS * Math.max(1, budget); length < text.length; length *= 2) {
    const tokens = encode(text.slice(0, length)).length;
    if (tokens > budget + CUT_TOKENS)
      return { kind: 'estimated', tokens: Math.round((tokens / length) * text.length) };
  }
  return { kind: 'whole', ids: encode(text) };
}

export const tokensOf = (counted: TokenCount): number =>
  counted.kind === 'whole' ? counted.ids.length : counted.tokens;

/** In every script, this many characters per token of the budget exceed the budget. */
const CHARACTERS_PER_TOKEN = 64;

type SizeSample = {
  /** Begins with a message of the person, as every conversation does. */
  readonly messages: readonly ChatMessage[];
  /** Share of the text of all messages; 1 if the sample is complete. */
  readonly share: number;
};

/**
 * For a prompt far over the budget, enough of it to estimate its size: the newest messages, each cut at its end
 * if it is long by itself. A request of megabytes need not be rendered and tokenized as a whole.
 */
export function sampleForSize(messages: readonly ChatMessage[], budget: number): SizeSample {
  const enough = CHARACTERS_PER_TOKEN * budget;
  const sizes = messages.map(({ content }) => contentText(content).length);
  const sum = (counts: readonly number[]) =>
    counts.reduce((total, size) => total + size + MARK_CHARACTERS, 0);
  let start = messages.length;
  for (let size = 0; start > 0 && size <= enough && messages.length - start <= budget; )
    size += sizes[--start]!;
  while (start > 0 && !isHuman(messages[start]!)) start -= 1;
  const shown = sizes.slice(start).map((size) => Math.min(size, enough));
  return {
    messages: messages.slice(start).map((message, index) => beginning(message, shown[index]!)),
    share: sum(shown) / sum(sizes),
  };
}

/** Approximate characters of the marks around a message. */
const MARK_CHARACTERS = 8;

function beginning(message: ChatMessage, characters: number): ChatMessage {
  const text = contentText(message.content);
  return text.length <= characters ? message : { ...message, content: text.slice(0, characters) };
}
