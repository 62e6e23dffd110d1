import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import { createBareCallParser } from '../chat/bare-call-parser.ts';
import { createForcedCallParser, forcedCall } from '../chat/forced-call.ts';
import { onlyFirstCall } from '../chat/only-first-call.ts';
import { onlyLeadingCall } from '../chat/only-leading-call.ts';
import { opensReasoning } from '../chat/reasoning-parser.ts';
import type { ToolCallForm } from '../chat/tool-call-form.ts';
import { createToolCallParser, type ToolCallParser } from '../chat/tool-call-parser.ts';
import type { PossibleCalls } from '../format/format-matcher.ts';
import { tooLarge } from '../format/schema-size.ts';
import { type AnswerText, createAnswerText } from './answer-text.ts';
import type { GenerationRequest } from './engine.ts';
import type { Prompt } from './prompt.ts';
import type { SequenceRequest } from './protocol.ts';

type TextModel = {
  readonly tokenizer: Pick<Tokenizer, 'decode' | 'streamDecoder'>;
  /** `tagged` unless told. */
  readonly toolCallForm?: ToolCallForm;
};

/** Tokens at the end of a prompt that tell whether it leaves its reasoning open. */
const TELLING_TOKENS = 16;

/** What makes text of the ids of an answer to this request. */
export const answerTextFor = (model: TextModel, request: SequenceRequest): AnswerText => {
  const { tokenizer } = model;
  const { sampling, prompt, forcedCall: forced, format } = request;
  const isFree = forced === undefined && format === undefined;
  return createAnswerText({
    decoder: tokenizer.streamDecoder({ skipSpecial: true }),
    stops: isFree ? sampling.stop : [],
    reasons: format === undefined,
    insideReasoning: opensReasoning(tokenizer.decode(prompt.promptIds.slice(-TELLING_TOKENS))),
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

/** A request whose prompt is made, for one of its choices. */
export const sequenceRequest = (request: GenerationRequest, prompt: Prompt): SequenceRequest => {
  const { target, sampling, tools, topLogProbs, forcedCall: forced, format, singleCall, cacheSalt } = request;
  return {
    target,
    sampling,
    prompt,
    callsTools: tools.length > 0,
    toolNames: tools.map(nameOf),
    ...(topLogProbs === undefined ? {} : { topLogProbs }),
    ...(forced === undefined ? {} : { forcedCall: forced, ...parametersOf(forced, tools) }),
    ...(format === undefined ? {} : { format }),
    ...(singleCall === undefined ? {} : { singleCall }),
    ...(cacheSalt === undefined ? {} : { cacheSalt }),
  };
};

/** What an answer may be instead of its format: where there are tools, a call of one. */
export const possibleCalls = (
  { toolCallForm: form = 'tagged' }: TextModel,
  { callsTools, toolNames: names = [] }: SequenceRequest,
): PossibleCalls | undefined => (callsTools ? { form, names } : undefined);

type ToldTool = { readonly function?: { readonly name: string; readonly parameters?: unknown } };

/** Whatever a tool says of `strict`: a call that has to come is of no use where its arguments are of another form. */
function parametersOf(
  forced: readonly string[],
  tools: readonly unknown[],
): Pick<SequenceRequest, 'heldParameters'> {
  const held = (tools as readonly ToldTool[]).flatMap(({ function: told }) =>
    told?.parameters != null && forced.includes(told.name) && tooLarge(told.parameters) === undefined
      ? [[told.name, told.parameters] as const]
      : [],
  );
  return held.length === 0 ? {} : { heldParameters: Object.fromEntries(held) };
}

const nameOf = (tool: unknown): string =>
  String((tool as { readonly function?: { readonly name?: unknown } }).function?.name ?? '');
