import { type ChatMessage, contentText, isHuman } from '../../../shared/chat/message.ts';

/** Characters of text, per token of the budget, that hold more tokens than the budget in any script. */
const CHARACTERS_PER_TOKEN = 64;

export type TellingPart = {
  /** It begins with a person's words, as any conversation does. */
  readonly messages: readonly ChatMessage[];
  /** Of the text of all messages: 1, where it is all. */
  readonly share: number;
};

/**
 * As much of a request as tells whether it is too long for a budget of tokens: the newest messages, and the
 * beginning of one that is long by itself. A request of megabytes need not be looked at whole for that.
 */
export function tellingPart(messages: readonly ChatMessage[], budget: number): TellingPart {
  const enough = CHARACTERS_PER_TOKEN * budget;
  const sizes = messages.map(({ content }) => contentText(content).length);
  const sum = (some: readonly number[]) => some.reduce((total, size) => total + size + MARKS, 0);
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

/** What the marks around a message cost, about. Characters. */
const MARKS = 8;

function beginning(message: ChatMessage, characters: number): ChatMessage {
  const text = contentText(message.content);
  return text.length <= characters ? message : { ...message, content: text.slice(0, characters) };
}
