import { type ChatMessage, contentText, isHuman, isInternalContext, isSystem } from './message.ts';
import { fewestThatFit, longestThatFits } from './window-search.ts';

export type WindowInput = {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly unknown[] | undefined;
  /** The policy's context, tokens. */
  readonly contextTokens: number;
  /** Requested limit of the answer, tokens. */
  readonly maxTokens?: number | undefined;
  /**
   * Tokens of the whole prompt as the policy would see it. Called a few times. May be an estimate if the prompt does
   * not fit, as long as the estimate does not fit either.
   */
  readonly countTokens: (messages: readonly ChatMessage[], tools: readonly unknown[]) => number;
  /** Tokens of all messages and tools, if they are already counted. */
  readonly promptTokens?: number | undefined;
};

/** Number of removed items, messages and characters; all 0: nothing was cut. */
export type WindowCut = {
  readonly tools: number;
  readonly internalContext: number;
  readonly systemCharacters: number;
  readonly turns: number;
  /** Messages of the last turn after the person's words: answers and tool results. */
  readonly lastTurnMessages: number;
  /** Characters of the last turn: first of its other texts, then of the person's words. */
  readonly lastTurnCharacters: number;
};

export type Window = {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  readonly cut: WindowCut;
  readonly promptTokens: number;
};

type Draft = Window;

/** Tokens kept free for the answer: a quarter of the window, or max_tokens if that is less. */
export const answerRoom = (contextTokens: number, maxTokens?: number): number =>
  Math.max(1, Math.min(Math.floor(contextTokens / 4), maxTokens ?? Number.POSITIVE_INFINITY));

/**
 * Cuts a request to a policy's context. Until it fits, removes in this order: the tool definitions; internal-context
 * messages; the end of the system text, down to a quarter of the window; the oldest turns. If the last turn alone is
 * still too long: its older tool rounds, the ends of its tool results, the rest of the system text, its latest round,
 * and finally the beginning of the person's words. Each step removes no more than necessary, except that tool
 * definitions and internal context are removed completely.
 *
 * Pure: the same request, context and countTokens give the same window. Throws if even an empty prompt does not fit.
 */
export function fitWindow(input: WindowInput): Window {
  const budget = input.contextTokens - answerRoom(input.contextTokens, input.maxTokens);
  const tools = input.tools ?? [];
  const promptTokens = input.promptTokens ?? input.countTokens(input.messages, tools);
  let draft: Draft = { messages: input.messages, tools, cut: nothingCut, promptTokens };
  for (const step of steps) {
    if (draft.promptTokens <= budget) return draft;
    draft = step(draft, { ...input, budget });
  }
  if (draft.promptTokens <= budget) return draft;
  throw new Error(
    `A context of ${input.contextTokens} tokens has no room for a prompt, not even for an empty one`,
  );
}

export const nothingCut: WindowCut = {
  tools: 0,
  internalContext: 0,
  systemCharacters: 0,
  turns: 0,
  lastTurnMessages: 0,
  lastTurnCharacters: 0,
};

type Limits = WindowInput & { readonly budget: number };
type Step = (draft: Draft, limits: Limits) => Draft;

const steps: readonly Step[] = [
  dropTools,
  dropInternalContext,
  (draft, limits) => shortenSystem(draft, limits, Math.floor(limits.contextTokens / 4)),
  dropOldestTurns,
  dropOldestRounds,
  (draft, limits) =>
    shortenLastTurn(draft, limits, (message) => !isSystem(message) && !isHuman(message), 'start'),
  (draft, limits) => shortenSystem(draft, limits, 0),
  dropLatestRound,
  (draft, limits) => shortenLastTurn(draft, limits, isHuman, 'end'),
];

function revise(draft: Draft, { countTokens }: Limits, change: Partial<Window>): Draft {
  const next = { ...draft, ...change };
  return { ...next, promptTokens: change.promptTokens ?? countTokens(next.messages, next.tools) };
}

function dropTools(draft: Draft, limits: Limits): Draft {
  const { length } = draft.tools;
  return length === 0 ? draft : revise(draft, limits, { tools: [], cut: { ...draft.cut, tools: length } });
}

function dropInternalContext(draft: Draft, limits: Limits): Draft {
  const messages = draft.messages.filter((message) => !isInternalContext(message));
  const internalContext = draft.messages.length - messages.length;
  if (internalContext === 0 || messages.every(isSystem)) return draft;
  return revise(draft, limits, { messages, cut: { ...draft.cut, internalContext } });
}

/**
 * Shortens the system text from its end until the prompt fits, but keeps at least `least` tokens. Counts it together
 * with an empty message, because counting the whole history is slow.
 */
function shortenSystem(draft: Draft, limits: Limits, least: number): Draft {
  const { countTokens, budget } = limits;
  const system = draft.messages.filter(isSystem);
  const length = textLength(system);
  if (length === 0) return draft;
  const beside: ChatMessage = { role: 'user', content: '' };
  const count = (characters: number) =>
    countTokens([...shorten(system, isSystem, characters, 'start'), beside], draft.tools);
  const whole = count(length);
  const floorTokens = countTokens([beside], draft.tools);
  const others = countTokens(
    draft.messages.filter((message) => !isSystem(message)),
    draft.tools,
  );
  const allowed = floorTokens + Math.max(least, budget - others);
  const { size } = longestThatFits({ size: length, tokens: whole, floorTokens, allowed, count });
  if (size === length) return draft;
  const cut = { ...draft.cut, systemCharacters: draft.cut.systemCharacters + length - size };
  return revise(draft, limits, { messages: shorten(draft.messages, isSystem, size, 'start'), cut });
}

function dropOldestTurns(draft: Draft, limits: Limits): Draft {
  const system = draft.messages.filter(isSystem);
  const turns = splitTurns(draft.messages.filter((message) => !isSystem(message)));
  const droppable = turns.length - 1;
  if (droppable <= 0) return draft;
  const without = (count: number) => [...system, ...turns.slice(count).flat()];
  const { dropped, tokens } = fewestThatFit({
    sizes: turns.map(textLength),
    most: droppable,
    tokens: draft.promptTokens,
    budget: limits.budget,
    count: (drop) => limits.countTokens(without(drop), draft.tools),
  });
  return revise(draft, limits, {
    messages: without(dropped),
    cut: { ...draft.cut, turns: dropped },
    promptTokens: tokens,
  });
}

/** Drops the oldest answers, with their tool results, between the person's last words and the latest round. */
function dropOldestRounds(draft: Draft, limits: Limits): Draft {
  const words = draft.messages.findLastIndex(isHuman);
  const head = draft.messages.slice(0, words + 1);
  const rounds = splitRounds(draft.messages.slice(words + 1));
  if (rounds.length <= 1) return draft;
  const without = (count: number) => [...head, ...rounds.slice(count).flat()];
  const { dropped, tokens } = fewestThatFit({
    sizes: rounds.map(textLength),
    most: rounds.length - 1,
    tokens: draft.promptTokens,
    budget: limits.budget,
    count: (drop) => limits.countTokens(without(drop), draft.tools),
  });
  const lastTurnMessages = rounds.slice(0, dropped).flat().length;
  return revise(draft, limits, {
    messages: without(dropped),
    cut: { ...draft.cut, lastTurnMessages },
    promptTokens: tokens,
  });
}

/** At this point, only the tool calls of the round are left, which are useless without their results. */
function dropLatestRound(draft: Draft, limits: Limits): Draft {
  const words = draft.messages.findLastIndex(isHuman);
  const messages = draft.messages.slice(0, words + 1);
  const dropped = draft.messages.length - messages.length;
  if (words === -1 || dropped === 0) return draft;
  const cut = { ...draft.cut, lastTurnMessages: draft.cut.lastTurnMessages + dropped };
  return revise(draft, limits, { messages, cut });
}

function shortenLastTurn(draft: Draft, limits: Limits, which: Which, kept: KeptEnd): Draft {
  const length = textLength(draft.messages.filter(which));
  if (length === 0) return draft;
  const keep = (characters: number) => shorten(draft.messages, which, characters, kept);
  const count = (characters: number) => limits.countTokens(keep(characters), draft.tools);
  const { size, tokens } = longestThatFits({
    size: length,
    tokens: draft.promptTokens,
    floorTokens: count(0),
    allowed: limits.budget,
    count,
  });
  const cut = { ...draft.cut, lastTurnCharacters: draft.cut.lastTurnCharacters + length - size };
  return revise(draft, limits, { messages: keep(size), cut, promptTokens: tokens });
}

export const textLength = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + contentText(message.content).length, 0);

/** A turn begins with a person's words; messages before the first such message form a separate turn. */
export function splitTurns(messages: readonly ChatMessage[]): readonly (readonly ChatMessage[])[] {
  return splitBefore(messages, isHuman);
}

/** A round is an answer and the tool results that follow it. */
function splitRounds(messages: readonly ChatMessage[]): readonly (readonly ChatMessage[])[] {
  return splitBefore(messages, (message) => message.role === 'assistant');
}

function splitBefore(messages: readonly ChatMessage[], begins: Which): readonly (readonly ChatMessage[])[] {
  const groups: ChatMessage[][] = [];
  for (const message of messages) {
    if (groups.length === 0 || begins(message)) groups.push([]);
    groups.at(-1)!.push(message);
  }
  return groups;
}

type Which = (message: ChatMessage) => boolean;
type KeptEnd = 'start' | 'end';

/** Keeps `characters` characters of all selected messages together. Removes system messages that become empty. */
function shorten(
  messages: readonly ChatMessage[],
  which: Which,
  characters: number,
  kept: KeptEnd,
): ChatMessage[] {
  let left = characters;
  const inOrder = kept === 'start' ? messages : messages.toReversed();
  const shortened = inOrder.flatMap((message): ChatMessage[] => {
    if (!which(message)) return [message];
    const text = contentText(message.content);
    const length = Math.min(left, text.length);
    left -= length;
    if (length === text.length) return [message];
    const content = cutText(text, length, kept);
    return content === '' && isSystem(message) ? [] : [{ ...message, content }];
  });
  return kept === 'start' ? shortened : shortened.reverse();
}

/** Never splits a surrogate pair. */
export function cutText(text: string, length: number, kept: KeptEnd): string {
  const part = kept === 'start' ? text.slice(0, length) : text.slice(text.length - length);
  return kept === 'start' ? part.replace(/[\uD800-\uDBFF]$/, '') : part.replace(/^[\uDC00-\uDFFF]/, '');
}
