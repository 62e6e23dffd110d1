import {
  fitLimits,
  type LimitCut,
  type Limited,
  type PromptLimits,
} from '../../../shared/chat/prompt-limits.ts';
import {
  answerRoom,
  fitWindow,
  nothingCut,
  type Window,
  type WindowCut,
  type WindowInput,
} from '../../../shared/chat/window.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { ChatTemplate } from '../../../shared/policy/chat-template.ts';
import type { ReservedTokens } from '../../../shared/policy/plain-prompt.ts';
import { plainText } from '../../../shared/policy/plain-text.ts';
import { promptRenderer } from '../../../shared/policy/render-prompt.ts';
import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import { isServiceError } from '../../../shared/service/errors.ts';
import { forcedCall } from '../chat/forced-call.ts';
import { opensReasoning } from '../chat/reasoning-parser.ts';
import type { ToolCallForm } from '../chat/tool-call-form.ts';
import { ServingError } from '../errors.ts';
import { createFormatMatchers } from '../format/format-matcher.ts';
import { type Counted, countTokens, tokensOf } from './count-tokens.ts';
import type { GenerationRequest, PromptParts } from './engine.ts';
import { tellingPart } from './telling-part.ts';

export type PromptMaker = {
  readonly tokenizer: Pick<Tokenizer, 'encode' | keyof ReservedTokens | 'vocabularySize'>;
  readonly template: ChatTemplate;
  /** `tagged` unless told. */
  readonly toolCallForm?: ToolCallForm;
  readonly contextTokens: number;
  readonly context: 'window' | 'error';
  /** What the model can make use of; undefined: all that fits the context. */
  readonly limits?: PromptLimits | undefined;
  /** Hears which field of the request is read next. */
  readonly reading?: (param: string) => void;
};

export type Prompt = {
  readonly promptIds: readonly number[];
  /** Absent: nothing was cut. */
  readonly windowCut?: PromptCut;
  /** What was left, where something was cut. */
  readonly window?: Pick<Window, 'messages' | 'tools'>;
  /** Tokens that the answer may have: what was asked for, or what the context leaves. */
  readonly maxTokens: number;
  /** Present where the answer may have less than what was asked for. */
  readonly askedMaxTokens?: number;
};

/** To the model's limits, and then to its context. */
export type PromptCut = WindowCut &
  Partial<Pick<LimitCut, 'wrapperCharacters'>> & {
    /** Of the limits, where there are any. */
    readonly systemBudget?: number;
  };

const formatMatchers = createFormatMatchers();

/**
 * A request as the token ids that the policy reads. @throws ServingError CONTEXT_LENGTH_EXCEEDED,
 * TEMPLATE_REFUSED, INVALID_REQUEST for a token that there is not or a format that answers cannot be held to
 */
export function makePrompt(maker: PromptMaker, request: GenerationRequest): Prompt {
  refuseUnknownTokens(maker, request);
  if (request.format !== undefined) {
    maker.reading?.(request.format.param);
    formatMatchers(request.format);
  }
  maker.reading?.('messages');
  const { contextTokens, context } = maker;
  const asked = request.sampling.maxTokens;
  const room = context === 'window' ? answerRoom(contextTokens, asked) : 1;
  const budget = contextTokens - room;
  const render = renderer(maker, request);
  const count: Count = (messages, tools) => {
    const { messages: part, share } = tellingPart(messages, budget);
    if (share < 1) {
      const tokens = tokensOf(countTokens(maker.tokenizer.encode, render(part, []), budget));
      if (tokens > budget) return { kind: 'estimated', tokens: Math.round(tokens / share) };
    }
    return countTokens(maker.tokenizer.encode, render(messages, tools), budget);
  };
  const limited = withinLimits(maker, request, count);
  const whole = count(limited.messages, limited.tools);
  if (whole.kind === 'whole' && whole.ids.length <= budget)
    return { ...clamp(whole.ids, contextTokens, asked), ...toldCut(maker, limited) };
  const window =
    context === 'window' ? cutToWindow(maker, { ...request, ...limited }, tokensOf(whole), count) : undefined;
  if (window === undefined) {
    throw ServingError.CONTEXT_LENGTH_EXCEEDED({
      param: 'messages',
      limit: contextTokens,
      tokens: whole.kind === 'whole' ? whole.ids.length : `about ${whole.tokens}`,
    });
  }
  const promptIds = maker.tokenizer.encode(render(window.messages, window.tools));
  return { ...clamp(promptIds, contextTokens, asked), ...toldCut(maker, limited, window) };
}

function withinLimits(
  { limits, tokenizer }: PromptMaker,
  { messages, tools, forcedCall: names }: GenerationRequest,
  count: Count,
): Limited {
  if (limits === undefined) return { messages, tools, cut: undefined };
  const plain = plainText(tokenizer.controlTokens);
  return fitLimits({
    ...{ messages, tools, limits },
    keepsTools: names !== undefined,
    tokensOf: (text) => tokenizer.encode(plain(text)).length,
    countTokens: (some, them) => tokensOf(count(some, them)),
  });
}

/** What was cut in both steps, and what was left; nothing where nothing was cut. */
function toldCut(
  { limits }: PromptMaker,
  limited: Limited,
  window?: Window,
): Pick<Prompt, 'windowCut' | 'window'> {
  const { cut: byLimits } = limited;
  if (window === undefined && byLimits === undefined) return {};
  const { messages, tools, cut } = window ?? { ...limited, cut: nothingCut };
  const windowCut: PromptCut = {
    ...cut,
    ...(byLimits && {
      tools: cut.tools + byLimits.tools,
      internalContext: cut.internalContext + byLimits.internalContext,
      systemCharacters: cut.systemCharacters + byLimits.systemCharacters,
      turns: cut.turns + byLimits.turns,
      wrapperCharacters: byLimits.wrapperCharacters,
    }),
    ...(limits && { systemBudget: limits.systemTokens }),
  };
  return { windowCut, window: { messages, tools } };
}

/** Tokens of the whole prompt; an estimate where it is far beyond the context. @throws TEMPLATE_REFUSED */
export function countPrompt(maker: PromptMaker, parts: PromptParts): number {
  const text = renderer(maker, parts)(parts.messages, parts.tools);
  return tokensOf(countTokens(maker.tokenizer.encode, text, maker.contextTokens));
}

function refuseUnknownTokens({ tokenizer }: PromptMaker, { sampling }: GenerationRequest): void {
  const last = tokenizer.vocabularySize - 1;
  const unknown = sampling.logitBias.find(([id]) => id > last);
  if (unknown === undefined) return;
  const detail = `Invalid 'logit_bias': there is no token ${unknown[0]}; ids end at ${last}.`;
  throw ServingError.INVALID_REQUEST({ param: 'logit_bias', detail });
}

type Count = (messages: readonly ChatMessage[], tools: readonly unknown[]) => Counted;

/** Undefined: what must stay, such as the arguments of a tool call, does not fit by itself. */
function cutToWindow(
  { contextTokens }: PromptMaker,
  { messages, tools, sampling }: GenerationRequest,
  promptTokens: number,
  count: Count,
): Window | undefined {
  const { maxTokens } = sampling;
  const countThem: WindowInput['countTokens'] = (some, them) => tokensOf(count(some, them));
  try {
    return fitWindow({ messages, tools, contextTokens, maxTokens, promptTokens, countTokens: countThem });
  } catch (error) {
    if (isServiceError(error)) throw error;
    return undefined;
  }
}

function clamp(promptIds: readonly number[], contextTokens: number, asked: number | undefined): Prompt {
  const left = contextTokens - promptIds.length;
  const clamped = asked !== undefined && asked > left;
  return {
    promptIds,
    maxTokens: Math.min(asked ?? left, left),
    ...(clamped ? { askedMaxTokens: asked } : {}),
  };
}

/**
 * The template's refusal is the client's to hear. A forced call is begun here, without reasoning: what is
 * sampled is what follows. An answer of a format has no reasoning either.
 */
function renderer(
  { tokenizer, template, toolCallForm = 'tagged' }: PromptMaker,
  { templateVariables: variables, forcedCall: names, format }: PromptParts,
) {
  const render = promptRenderer(tokenizer, template);
  const plain = plainText(tokenizer.controlTokens);
  const beginning = names === undefined ? '' : forcedCall(toolCallForm, names.map(plain)).beginning;
  const begin = (prompt: string): string =>
    (names !== undefined || format !== undefined) && opensReasoning(prompt)
      ? `${prompt.trimEnd()}\n</think>\n\n${beginning}`
      : prompt + beginning;
  return (messages: readonly ChatMessage[], tools: readonly unknown[]): string => {
    try {
      return begin(render({ messages, tools, variables }));
    } catch (error) {
      throw ServingError.TEMPLATE_REFUSED({
        param: 'messages',
        detail: (error as Error).message.slice(0, 300),
      });
    }
  };
}
