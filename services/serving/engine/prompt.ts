import {
  answerRoom,
  fitWindow,
  type Window,
  type WindowCut,
  type WindowInput,
} from '../../../shared/chat/window.ts';
import type { ChatMessage, ContentPart } from '../../../shared/events/chat-message.ts';
import type { ChatTemplate } from '../../../shared/policy/chat-template.ts';
import { plainText } from '../../../shared/policy/plain-text.ts';
import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import { isServiceError } from '../../../shared/service/errors.ts';
import { ServingError } from '../errors.ts';
import type { GenerationRequest } from './engine.ts';

export type PromptMaker = {
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'specialTokens'>;
  readonly template: ChatTemplate;
  readonly contextTokens: number;
  readonly context: 'window' | 'error';
};

export type Prompt = {
  readonly promptIds: readonly number[];
  /** Absent: nothing was cut. */
  readonly windowCut?: WindowCut;
  /** Tokens that the answer may have: what was asked for, or what the context leaves. */
  readonly maxTokens: number;
  /** Present where the answer may have less than what was asked for. */
  readonly askedMaxTokens?: number;
};

/**
 * A request as the token ids that the policy reads. @throws ServingError CONTEXT_LENGTH_EXCEEDED,
 * TEMPLATE_REFUSED
 */
export function makePrompt(maker: PromptMaker, request: GenerationRequest): Prompt {
  const { contextTokens, context } = maker;
  const asked = request.sampling.maxTokens;
  const whole = encode(maker, request, request.messages, request.tools);
  const room = context === 'window' ? answerRoom(contextTokens, asked) : 1;
  if (whole.length + room <= contextTokens) return clamp(whole, contextTokens, asked);
  const window = context === 'window' ? cutToWindow(maker, request) : undefined;
  if (window === undefined) {
    throw ServingError.CONTEXT_LENGTH_EXCEEDED({
      param: 'messages',
      limit: contextTokens,
      tokens: whole.length,
    });
  }
  const promptIds = encode(maker, request, window.messages, window.tools);
  return { ...clamp(promptIds, contextTokens, asked), windowCut: window.cut };
}

/** Undefined: what must stay, such as the arguments of a tool call, does not fit by itself. */
function cutToWindow(maker: PromptMaker, request: GenerationRequest): Window | undefined {
  const { messages, tools, sampling } = request;
  const countTokens: WindowInput['countTokens'] = (some, them) => encode(maker, request, some, them).length;
  const { contextTokens } = maker;
  try {
    return fitWindow({ messages, tools, contextTokens, maxTokens: sampling.maxTokens, countTokens });
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

function encode(
  { tokenizer, template }: PromptMaker,
  { templateVariables }: GenerationRequest,
  messages: readonly ChatMessage[],
  tools: readonly unknown[],
): readonly number[] {
  const plain = plainText(tokenizer.specialTokens);
  let text: string;
  try {
    text = template.render({
      messages: messages.map((message) => asTemplateKnowsIt(message, plain)),
      tools,
      addGenerationPrompt: true,
      variables: templateVariables,
    });
  } catch (error) {
    throw ServingError.TEMPLATE_REFUSED({
      param: 'messages',
      detail: (error as Error).message.slice(0, 300),
    });
  }
  return tokenizer.encode(text);
}

/** Templates know no `developer`; and nobody's words may pose as the template's own marks. */
function asTemplateKnowsIt(message: ChatMessage, plain: (text: string) => string): ChatMessage {
  const { role, content } = message;
  return {
    ...message,
    role: role === 'developer' ? 'system' : role,
    ...(typeof content === 'string' ? { content: plain(content) } : {}),
    ...(Array.isArray(content) ? { content: content.map((part) => plainPart(part, plain)) } : {}),
  };
}

const plainPart = (part: ContentPart, plain: (text: string) => string): ContentPart =>
  part.text === undefined ? part : { ...part, text: plain(part.text) };
