import { tooLarge } from '../../../shared/json-grammar/schema-size.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { opensReasoning } from '../../../shared/policy/text/reasoning.ts';
import type { Tokenizer } from '../../../shared/policy/text/tokenizer.ts';
import { type AnswerText, createAnswerText } from '../decoding/answer-text.ts';
import { createBareCallParser } from '../decoding/bare-call-parser.ts';
import { onlyFirstCall, onlyLeadingCall } from '../decoding/call-filters.ts';
import { createForcedCallParser, forcedCall } from '../decoding/forced-call.ts';
import type { PossibleCalls } from '../decoding/format-matcher.ts';
import type { ToolCallForm } from '../decoding/tool-call-form.ts';
import { createToolCallParser, type ToolCallParser } from '../decoding/tool-call-parser.ts';
import type { GenerationRequest } from '../generation.ts';
import type { Prompt } from './prompt.ts';

/** A request with its rendered prompt. */
export type SequenceRequest = Pick<
  GenerationRequest,
  'target' | 'sampling' | 'topLogProbs' | 'forcedCall' | 'format' | 'singleCall' | 'cacheSalt'
> & {
  readonly prompt: Prompt;
  readonly callsTools: boolean;
  /** Of a forced call: the schemas of its arguments, by tool. Schemas that are too large are missing. */
  readonly argumentSchemas?: Readonly<Record<string, unknown>>;
  /** In the `bare` form, only a call of one of these tools is a call. */
  readonly toolNames?: readonly string[];
};

type TextModel = {
  readonly tokenizer: Pick<Tokenizer, 'decode' | 'streamDecoder'>;
  /** Default: `tagged`. */
  readonly toolCallForm?: ToolCallForm;
};

/** Tokens at the end of a prompt that show whether it leaves its reasoning open. */
const REASONING_TAIL_TOKENS = 16;

/** Turns the token ids of an answer to this request into text. */
export const answerTextFor = (model: TextModel, request: SequenceRequest): AnswerText => {
  const { tokenizer } = model;
  const { sampling, prompt, forcedCall: forced, format } = request;
  const isFree = forced === undefined && format === undefined;
  return createAnswerText({
    decoder: tokenizer.streamDecoder({ skipSpecial: true }),
    stops: isFree ? sampling.stop : [],
    reasons: format === undefined,
    insideReasoning: opensReasoning(tokenizer.decode(prompt.promptIds.slice(-REASONING_TAIL_TOKENS))),
    tools: parserOf(model, request),
  });
};

function parserOf(
  { toolCallForm = 'tagged' }: TextModel,
  { callsTools, toolNames = [], forcedCall: forced, format, singleCall }: SequenceRequest,
): ToolCallParser | undefined {
  if (forced !== undefined) return createForcedCallParser(forcedCall(toolCallForm, forced));
  if (!callsTools) return undefined;
  const anywhere = toolCallForm === 'bare' ? createBareCallParser(toolNames) : createToolCallParser();
  const parser = format === undefined ? anywhere : onlyLeadingCall(anywhere, toolCallForm);
  return singleCall === true ? onlyFirstCall(parser) : parser;
}

/** A request with its rendered prompt, for one of its choices. */
export const sequenceRequest = (request: GenerationRequest, prompt: Prompt): SequenceRequest => {
  const { target, sampling, tools, topLogProbs, forcedCall: forced, format, singleCall, cacheSalt } = request;
  return {
    target,
    sampling,
    prompt,
    callsTools: tools.length > 0,
    toolNames: tools.map(nameOf),
    ...defined({
      topLogProbs,
      forcedCall: forced,
      argumentSchemas: forced && argumentSchemasOf(forced, tools),
      format,
      singleCall,
      cacheSalt,
    }),
  };
};

/** The calls that may replace an answer of a format; undefined if there are no tools. */
export const possibleCalls = (
  { toolCallForm: form = 'tagged' }: TextModel,
  { callsTools, toolNames: names = [] }: SequenceRequest,
): PossibleCalls | undefined => (callsTools ? { form, names } : undefined);

type FunctionTool = { readonly function?: { readonly name: string; readonly parameters?: unknown } };

/** Independent of a tool's `strict`: a forced call is useless if its arguments do not match their schema. */
function argumentSchemasOf(
  forced: readonly string[],
  tools: readonly unknown[],
): SequenceRequest['argumentSchemas'] {
  const schemas = (tools as readonly FunctionTool[]).flatMap(({ function: definition }) =>
    definition?.parameters != null &&
    forced.includes(definition.name) &&
    tooLarge(definition.parameters) === undefined
      ? [[definition.name, definition.parameters] as const]
      : [],
  );
  return schemas.length === 0 ? undefined : Object.fromEntries(schemas);
}

const nameOf = (tool: unknown): string => String((tool as FunctionTool).function?.name ?? '');
