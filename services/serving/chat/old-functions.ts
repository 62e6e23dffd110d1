import { z } from 'zod';
import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import { ServingError } from '../errors.ts';
import { LONGEST_TOOL_NAME, MOST_TOOLS } from './request-bounds.ts';
import type { ToolChoice } from './tool-choice.ts';

// `functions` and `function_call`, OpenAI's form of tools before there were `tools`.

const functionTold = z.looseObject({
  name: z.string().min(1).max(LONGEST_TOOL_NAME),
  parameters: z.looseObject({}).nullish(),
});
const honoured = <Field extends z.ZodType>(field: Field, about: string) =>
  ({ does: 'honoured', schema: field, about }) as const;

/** Rows of the table of fields. */
export const oldFunctionFields = {
  functions: honoured(
    z.array(functionTold).max(MOST_TOOLS).nullish(),
    'as `tools`; a call then comes as `function_call`, one at most. Not beside `tools`',
  ),
  function_call: honoured(
    z.union([z.enum(['none', 'auto']), z.looseObject({ name: z.string().min(1) })]).nullish(),
    'as `tool_choice`, beside `functions`',
  ),
};

type Asked = {
  readonly functions?: readonly { readonly name: string }[] | null | undefined;
  readonly function_call?: 'none' | 'auto' | { readonly name: string } | null | undefined;
  readonly tools?: readonly unknown[] | null | undefined;
};

/**
 * The functions as tools; undefined: the request has none in the old form.
 * @throws ServingError INVALID_REQUEST where it has tools in both forms
 */
export function toolsOfFunctions({ functions, function_call: choice, tools }: Asked) {
  if (functions == null || functions.length === 0) {
    if (typeof choice !== 'object' || choice === null) return undefined;
    const detail = "Invalid 'function_call': it asks for a call, and there are no 'functions'.";
    throw ServingError.INVALID_REQUEST({ param: 'function_call', detail });
  }
  if (tools != null && tools.length > 0) {
    const detail = "Invalid 'functions': it stands beside 'tools', which are the same in a newer form.";
    throw ServingError.INVALID_REQUEST({ param: 'functions', detail });
  }
  const called: ToolChoice | undefined =
    typeof choice === 'object' && choice !== null
      ? { type: 'function', function: { name: choice.name } }
      : (choice ?? undefined);
  return { tools: functions.map((told) => ({ type: 'function', function: told })), choice: called };
}

/** An answer whose call, one at most, stands where it stood before there were `tools`. */
export function withOldCall({ tool_calls: calls, ...message }: ChatMessage): object {
  const called = calls?.[0]?.function;
  if (called === undefined) return message;
  return { ...message, function_call: { name: called.name, arguments: called.arguments } };
}

/** The same of a piece of a stream, where a call comes in parts. */
export const oldCallDelta = (calls: readonly { readonly function: Partial<ToolCall['function']> }[]) => ({
  function_call: calls[0]!.function,
});

export const oldFinishReason = (reason: string): string =>
  reason === 'tool_calls' ? 'function_call' : reason;
