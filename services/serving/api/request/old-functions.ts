import { z } from 'zod';
import type { ChatMessage, ToolCall } from '../../../../shared/events/chat-message.ts';
import { ServingError } from '../../errors.ts';
import { honoured } from './field-rule.ts';
import { LONGEST_TOOL_NAME, MOST_TOOLS } from './request-bounds.ts';
import type { ToolChoice } from './tool-choice.ts';

// `functions` and `function_call`: OpenAI's form of tools that predates `tools`.

const functionSpec = z.looseObject({
  name: z.string().min(1).max(LONGEST_TOOL_NAME),
  parameters: z.looseObject({}).nullish(),
});

/** Rows of the field table. */
export const oldFunctionFields = {
  functions: honoured(
    z.array(functionSpec).max(MOST_TOOLS).nullish(),
    'like `tools`; the answer contains at most one call, as `function_call`. Cannot be combined with `tools`',
  ),
  function_call: honoured(
    z.union([z.enum(['none', 'auto']), z.looseObject({ name: z.string().min(1) })]).nullish(),
    'like `tool_choice`, for `functions`',
  ),
};

type FunctionBody = {
  readonly functions?: readonly { readonly name: string }[] | null | undefined;
  readonly function_call?: 'none' | 'auto' | { readonly name: string } | null | undefined;
  readonly tools?: readonly unknown[] | null | undefined;
};

/**
 * The functions as tools; undefined: the request does not use the old form.
 * @throws ServingError INVALID_REQUEST if the request uses both forms
 */
export function toolsOfFunctions({ functions, function_call: choice, tools }: FunctionBody) {
  if (functions == null || functions.length === 0) {
    if (typeof choice !== 'object' || choice === null) return undefined;
    const detail = "Invalid 'function_call': it requires a call, but 'functions' is empty.";
    throw ServingError.INVALID_REQUEST({ param: 'function_call', detail });
  }
  if (tools != null && tools.length > 0) {
    const detail = "Invalid 'functions': it cannot be combined with 'tools'.";
    throw ServingError.INVALID_REQUEST({ param: 'functions', detail });
  }
  const toolChoice: ToolChoice | undefined =
    typeof choice === 'object' && choice !== null
      ? { type: 'function', function: { name: choice.name } }
      : (choice ?? undefined);
  return { tools: functions.map((spec) => ({ type: 'function', function: spec })), choice: toolChoice };
}

/** The answer with its first call as `function_call`. */
export function withOldCall({ tool_calls: calls, ...message }: ChatMessage): object {
  const called = calls?.[0]?.function;
  if (called === undefined) return message;
  return { ...message, function_call: { name: called.name, arguments: called.arguments } };
}

/** The old form of the part of a call that a chunk of a stream contains. */
export const oldCallDelta = (calls: readonly { readonly function: Partial<ToolCall['function']> }[]) => ({
  function_call: calls[0]!.function,
});

export const oldFinishReason = (reason: string): string =>
  reason === 'tool_calls' ? 'function_call' : reason;
