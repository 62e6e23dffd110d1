import { withoutWrappers } from './client-wrappers.ts';
import { type ChatMessage, contentText, isInternalContext, isSystem } from './message.ts';
import { cutText, splitTurns, textLength, type WindowCut } from './window.ts';
import { fewestThatFit } from './window-search.ts';

/** Limits of a small model below its context length, in tokens. */
export type PromptLimits = {
  /** for system text and tool definitions */
  readonly systemTokens: number;
  /** for the whole prompt, before the oldest turns are dropped; undefined: the context length */
  readonly promptTokens?: number | undefined;
};

export type LimitedInput = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** Keeps the tools, because the request requires a call. */
  readonly keepsTools: boolean;
  readonly limits: PromptLimits;
  /** Tokens of a text. */
  readonly tokensOf: (text: string) => number;
  /** Tokens of a whole prompt; an estimate if it is far over the context. */
  readonly countTokens: (messages: readonly ChatMessage[], tools: readonly unknown[]) => number;
};

export type LimitCut = Pick<WindowCut, 'tools' | 'internalContext' | 'systemCharacters' | 'turns'> & {
  /** Characters of client additions to a person's words, and of runtime lines in the system text. */
  readonly wrapperCharacters: number;
};

export type Limited = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** undefined: nothing was cut */
  readonly cut: LimitCut | undefined;
};

/** upper bound for all scripts */
const CHARACTERS_PER_TOKEN = 64;
/** Turns are dropped in steps of this size, so that consecutive prompts mostly begin alike. */
const TURNS_AT_ONCE = 2;

/**
 * Fits a request into a model's limits: it removes client additions, cuts the system text at its end, drops tool
 * definitions without room beside it, and drops the oldest turns. The last turn stays whole. The cut of a message
 * does not depend on later ones, so that the next prompt begins alike.
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

/** Client texts stay if nothing else follows the last answer, because something has to be answered. */
function withoutClientTexts(messages: readonly ChatMessage[]) {
  const latest = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const bare = messages.map((message) => ({ message, left: withoutWrappers(message) }));
  const isAsked = bare.slice(latest).some(({ left }) => left !== undefined && !isSystem(left));
  const read = isAsked ? bare : bare.slice(0, latest);
  const left = read.flatMap((item) => (item.left === undefined ? [] : [item.left]));
  const kept = isAsked ? left : [...left, ...messages.slice(latest)];
  const internal = read.flatMap(({ message }) => (isInternalContext(message) ? [message] : []));
  return {
    messages: kept,
    internalContext: internal.length,
    characters: textLength(messages) - textLength(internal) - textLength(kept),
  };
}

/** System messages use up the budget in order, so a later one changes none before it. */
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

/** The first whole words of a text that fit into the tokens. */
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

/** Keeps the tools if their definitions, counted with an empty message, fit. */
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
