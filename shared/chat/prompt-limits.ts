import { withoutWrappers } from './client-wrappers.ts';
import { type ChatMessage, contentText, isInternalContext, isSystem } from './message.ts';
import { cutText, splitTurns, textLength, type WindowCut } from './window.ts';
import { fewestThatFit } from './window-search.ts';

/** What a model can make use of, where that is less than its context. Tokens. */
export type PromptLimits = {
  /** of the system text, tool definitions included */
  readonly systemTokens: number;
  /** of the whole prompt, before the oldest turns go; undefined: as many as the context has */
  readonly promptTokens?: number | undefined;
};

export type LimitedInput = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** Tools that a call has to come of stay. */
  readonly keepsTools: boolean;
  readonly limits: PromptLimits;
  /** Tokens of a text by itself. */
  readonly tokensOf: (text: string) => number;
  /** Tokens of a whole prompt; an estimate where it is far beyond the context. */
  readonly countTokens: (messages: readonly ChatMessage[], tools: readonly unknown[]) => number;
};

export type LimitCut = Pick<WindowCut, 'tools' | 'internalContext' | 'systemCharacters' | 'turns'> & {
  /** Of what clients write around a person's words, and of lines on the runtime in the system text. */
  readonly wrapperCharacters: number;
};

export type Limited = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** undefined: nothing */
  readonly cut: LimitCut | undefined;
};

/** No script has more characters per token. */
const CHARACTERS_PER_TOKEN = 64;
/** Turns go so many at a time: the prompt begins alike until so many more were said. */
const TURNS_AT_ONCE = 2;

/**
 * A request within a model's limits: without what clients write around a person's words, the system text cut
 * from its end, tool definitions only where they have room beside it, the oldest turns gone. The last turn
 * stays whole. What is cut of a message hangs on no later one, so that the next request begins alike.
 */
export function fitLimits(input: LimitedInput): Limited {
  const bare = withoutClientTexts(input.messages);
  const system = cutSystem(bare.messages, input);
  const tools = cutTools(system.left, input);
  const turns = dropOldTurns(system.messages, tools, input);
  const cut: LimitCut = {
    tools: input.tools.length - tools.length,
    internalContext: bare.internalContext,
    wrapperCharacters: bare.characters,
    systemCharacters: system.characters,
    turns: turns.dropped,
  };
  const isWhole = Object.values(cut).every((count) => count === 0);
  return isWhole
    ? { messages: input.messages, tools: input.tools, cut: undefined }
    : { messages: turns.messages, tools, cut };
}

/** Where a client's texts are all that came after the last answer, they stay: something has to be answered. */
function withoutClientTexts(messages: readonly ChatMessage[]) {
  const latest = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const bare = messages.map((message) => ({ message, left: withoutWrappers(message) }));
  const isAsked = bare.slice(latest).some(({ left }) => left !== undefined && !isSystem(left));
  const read = isAsked ? bare : bare.slice(0, latest);
  const left = read.flatMap((one) => (one.left === undefined ? [] : [one.left]));
  const kept = isAsked ? left : [...left, ...messages.slice(latest)];
  const internal = read.flatMap(({ message }) => (isInternalContext(message) ? [message] : []));
  return {
    messages: kept,
    internalContext: internal.length,
    characters: textLength(messages) - textLength(internal) - textLength(kept),
  };
}

/** System messages take of the budget in their order: one that comes later changes none before it. */
function cutSystem(messages: readonly ChatMessage[], { limits, tokensOf }: LimitedInput) {
  let left = limits.systemTokens;
  let characters = 0;
  const kept = messages.flatMap((message): readonly ChatMessage[] => {
    if (!isSystem(message)) return [message];
    const text = contentText(message.content);
    const content = beginningOf(text, left, tokensOf);
    if (content === text) {
      left -= tokensOf(text);
      return [message];
    }
    left = 0;
    characters += text.length - content.length;
    return content === '' ? [] : [{ ...message, content }];
  });
  return { messages: kept, left, characters };
}

/** As many whole words of a text as have so many tokens. */
function beginningOf(text: string, tokens: number, tokensOf: LimitedInput['tokensOf']): string {
  const most = cutText(text, Math.min(text.length, tokens * CHARACTERS_PER_TOKEN), 'start');
  if (tokensOf(most) <= tokens) return most;
  let fits = 0;
  let tooLong = most.length;
  while (tooLong - fits > 1) {
    const tried = Math.floor((fits + tooLong) / 2);
    if (tokensOf(most.slice(0, tried)) <= tokens) fits = tried;
    else tooLong = tried;
  }
  const words = most.slice(0, fits).search(/\s\S*$/);
  return cutText(most, words === -1 ? fits : words, 'start');
}

/** What a template writes of tool definitions, counted beside an empty message. */
function cutTools(left: number, { tools, keepsTools, countTokens }: LimitedInput): readonly unknown[] {
  if (tools.length === 0 || keepsTools) return tools;
  const beside: readonly ChatMessage[] = [{ role: 'user', content: '' }];
  return countTokens(beside, tools) - countTokens(beside, []) <= left ? tools : [];
}

function dropOldTurns(
  messages: readonly ChatMessage[],
  tools: readonly unknown[],
  { limits: { promptTokens }, countTokens }: LimitedInput,
) {
  const whole = { messages, dropped: 0 };
  if (promptTokens === undefined) return whole;
  const tokens = countTokens(messages, tools);
  const system = messages.filter(isSystem);
  const turns = splitTurns(messages.filter((message) => !isSystem(message)));
  const most = turns.length - 1;
  if (tokens <= promptTokens || most <= 0) return whole;
  const without = (count: number) => [...system, ...turns.slice(count).flat()];
  const fewest = fewestThatFit({
    sizes: turns.map(textLength),
    most,
    tokens,
    budget: promptTokens,
    count: (drop) => countTokens(without(drop), tools),
  });
  const dropped = Math.min(most, Math.ceil(fewest.dropped / TURNS_AT_ONCE) * TURNS_AT_ONCE);
  return { messages: without(dropped), dropped };
}
