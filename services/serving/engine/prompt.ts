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
import { defined } from '../../../shared/lang/defined.ts';
import type { ChatTemplate } from '../../../shared/policy/text/chat-template.ts';
import type { ReservedTokens } from '../../../shared/policy/text/plain-prompt.ts';
import { plainText } from '../../../shared/policy/text/plain-text.ts';
import { closeReasoning } from '../../../shared/policy/text/reasoning.ts';
import { promptRenderer } from '../../../shared/policy/text/render-prompt.ts';
import type { Tokenizer } from '../../../shared/policy/text/tokenizer.ts';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import { forcedCall } from '../decoding/forced-call.ts';
import { createFormatMatchers } from '../decoding/format-matcher.ts';
import type { ToolCallForm } from '../decoding/tool-call-form.ts';
import { ServingError } from '../errors.ts';
import type { GenerationRequest, PromptParts } from '../generation.ts';
import { countTokens, sampleForSize, type TokenCount, tokensOf } from './count-tokens.ts';

type PromptMaker = {
  readonly tokenizer: Pick<Tokenizer, 'encode' | keyof ReservedTokens | 'vocabularySize'>;
  readonly template: ChatTemplate;
  /** Default: `tagged`. */
  readonly toolCallForm?: ToolCallForm;
  readonly contextTokens: number;
  readonly context: 'window' | 'error';
  /** Limits of the model; undefined: only its context limits the prompt. */
  readonly limits?: PromptLimits | undefined;
  /** Called with the request field that is processed next. */
  readonly reading?: (param: string) => void;
};

export type Prompt = {
  readonly promptIds: readonly number[];
  /** Absent if nothing was cut. */
  readonly windowCut?: PromptCut;
  /** The remaining messages and tools, if something was cut. */
  readonly window?: Pick<Window, 'messages' | 'tools'>;
  /** Limit of the answer: the requested one, or the rest of the context if that is less. */
  readonly maxTokens: number;
  /** The requested limit, if the answer gets less. */
  readonly askedMaxTokens?: number;
};

/** Cuts to the limits of the model, and then to its context. */
type PromptCut = WindowCut &
  Partial<Pick<LimitCut, 'wrapperCharacters'>> & {
    /** Present if the model has limits. */
    readonly systemBudget?: number;
  };

const formatMatchers = createFormatMatchers();

/**
 * Renders a request as token ids.
 * @throws ServingError CONTEXT_LENGTH_EXCEEDED, TEMPLATE_REFUSED; INVALID_REQUEST for an unknown token or a format
 * that is not supported
 */
export function makePrompt(maker: PromptMaker, request: GenerationRequest): Prompt {
  refuseUnknownTokens(maker, request);
  if (request.format !== undefined) {
    maker.reading?.(request.format.param);
    formatMatchers(request.format);
  }
  maker.reading?.('messages');
  const { contextTokens, context } = maker;
  const requestedTokens = request.sampling.maxTokens;
  const room = context === 'window' ? answerRoom(contextTokens, requestedTokens) : 1;
  const budget = contextTokens - room;
  const render = renderer(maker, request);
  const count: Count = (messages, tools) => {
    const { messages: sample, share } = sampleForSize(messages, budget);
    if (share < 1) {
      const tokens = tokensOf(countTokens(maker.tokenizer.encode, render(sample, []), budget));
      if (tokens > budget) return { kind: 'estimated', tokens: Math.round(tokens / share) };
    }
    return countTokens(maker.tokenizer.encode, render(messages, tools), budget);
  };
  const limited = withinLimits(maker, request, count);
  const whole = count(limited.messages, limited.tools);
  if (whole.kind === 'whole' && whole.ids.length <= budget)
    return { ...clamp(whole.ids, contextTokens, requestedTokens), ...reportedCut(maker, limited) };
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
  return { ...clamp(promptIds, contextTokens, requestedTokens), ...reportedCut(maker, limited, window) };
}

function withinLimits(
  { limits, tokenizer }: PromptMaker,
  { messages, tools, forcedCall: names }: GenerationRequest,
  count: Count,
): Limited {
  if (limits === undefined) return { messages, tools, cut: undefined };
  const plain = plainText(tokenizer.controlTokens);
  return fitLimits({
    messages,
    tools,
    limits,
    keepsTools: names !== undefined,
    tokensOf: (text) => tokenizer.encode(plain(text)).length,
    countTokens: (someMessages, someTools) => tokensOf(count(someMessages, someTools)),
  });
}

/** The cuts of both steps and the remaining messages; empty if nothing was cut. */
function reportedCut(
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

/** Tokens of the whole prompt; an estimate if it far exceeds the context. @throws ServingError TEMPLATE_REFUSED */
export function countPrompt(maker: PromptMaker, parts: PromptParts): number {
  const text = renderer(maker, parts)(parts.messages, parts.tools);
  return tokensOf(countTokens(maker.tokenizer.encode, text, maker.contextTokens));
}

function refuseUnknownTokens({ tokenizer }: PromptMaker, { sampling }: GenerationRequest): void {
  const last = tokenizer.vocabularySize - 1;
  const unknown = sampling.logitBias.find(([id]) => id > last);
  if (unknown === undefined) return;
  const detail = `Invalid 'logit_bias': token ${unknown[0]} does not exist; the last id is ${last}.`;
  throw ServingError.INVALID_REQUEST({ param: 'logit_bias', detail });
}

type Count = (messages: readonly ChatMessage[], tools: readonly unknown[]) => TokenCount;

/** Undefined if the parts that must stay, such as the arguments of a tool call, do not fit. */
function cutToWindow(
  { contextTokens }: PromptMaker,
  { messages, tools, sampling }: GenerationRequest,
  promptTokens: number,
  count: Count,
): Window | undefined {
  const { maxTokens } = sampling;
  const countWindow: WindowInput['countTokens'] = (someMessages, someTools) =>
    tokensOf(count(someMessages, someTools));
  try {
    return fitWindow({ messages, tools, contextTokens, maxTokens, promptTokens, countTokens: countWindow });
  } catch (error) {
    if (isServiceError(error)) throw error;
    return undefined;
  }
}

function clamp(
  promptIds: readonly number[],
  contextTokens: number,
  requestedTokens: number | undefined,
): Prompt {
  const left = contextTokens - promptIds.length;
  const clamped = requestedTokens !== undefined && requestedTokens > left;
  return {
    promptIds,
    maxTokens: Math.min(requestedTokens ?? left, left),
    ...defined({ askedMaxTokens: clamped ? requestedTokens : undefined }),
  };
}

/**
 * Renders messages and tools; an error of the template becomes a client error. A forced call begins in the
 * prompt, without reasoning. An answer of a format has no reasoning either.
 */
function renderer(
  { tokenizer, template, toolCallForm = 'tagged' }: PromptMaker,
  { templateVariables: variables, forcedCall: names, format }: PromptParts,
) {
  const render = promptRenderer(tokenizer, template);
  const plain = plainText(tokenizer.controlTokens);
  const beginning = names === undefined ? '' : forcedCall(toolCallForm, names.map(plain)).beginning;
  const begin = (prompt: string): string =>
    (names !== undefined || format !== undefined ? closeReasoning(prompt) : prompt) + beginning;
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
