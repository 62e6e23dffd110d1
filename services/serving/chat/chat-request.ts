import { z } from 'zod';
import { sameJson } from '../../../shared/chat/json-text.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { GenerationRequest } from '../engine/engine.ts';
import { ServingError } from '../errors.ts';
import { toolsOfFunctions } from './old-functions.ts';
import { createOmissions, type Omission, type Omissions } from './omissions.ts';
import { arePlainMessages, arePlainTools } from './plain-chat.ts';
import { type ChatRequestBody, chatRequestSchema, type FieldRule, requestFields } from './request-fields.ts';
import { messagesOf } from './request-messages.ts';
import { limitOf, userText } from './shared-fields.ts';
import { answerFormat, type FormatBody } from './structured-output.ts';
import { chooseTools } from './tool-choice.ts';

/** A chat request that was found sound: what to generate, and how the client wants to see it. */
export type ChatRequest = {
  readonly model: string;
  readonly generation: Omit<GenerationRequest, 'target'>;
  /** As they came, for the record. */
  readonly tools: readonly unknown[] | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly session: string | undefined;
  /** The person at the other end, as the client knows them: a hint at the session. */
  readonly user: string | undefined;
  /** What was left out of it. */
  readonly ignored: readonly Omission[];
  /** Calls are shown as the `function_call` that they were before there were `tools`. */
  readonly oldCalls?: true;
  /** Of OpenAI's Responses: what the response says back of its request. */
  readonly response?: Readonly<Record<string, unknown>> & { readonly store: boolean };
};

/** All but messages and tools, which then need no look. */
const settingsSchema = chatRequestSchema.extend({
  messages: z.custom<ChatRequestBody['messages']>(),
  tools: z.custom<ChatRequestBody['tools']>().optional(),
});

type Options = {
  /** How another API calls its `response_format`. */
  readonly formatParam?: string;
  /** Where another API noted what it left out. */
  readonly omissions?: Omissions;
};

/** Checks a body against the table of fields. @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER */
export function parseChatRequest(
  body: unknown,
  { formatParam = 'response_format', omissions = createOmissions() }: Options = {},
): ChatRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw ServingError.INVALID_REQUEST({ detail: 'The body must be a JSON object.' });
  }
  lookAtOthers(body as Readonly<Record<string, unknown>>, omissions);
  const received = body as Pick<ChatRequestBody, 'messages' | 'tools' | 'functions'> & FormatBody;
  const isPlain = arePlainMessages(received.messages) && arePlainTools(received.tools);
  const parsed = (isPlain ? settingsSchema : chatRequestSchema).safeParse(body);
  if (!parsed.success) throw invalid(parsed.error);
  const request = parsed.data;
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw ServingError.INVALID_REQUEST({ param: 'top_logprobs', detail: "'top_logprobs' needs 'logprobs'." });
  }
  const messages = isPlain
    ? (received.messages as readonly ChatMessage[])
    : messagesOf(request.messages, omissions);
  if (!isPlain && messages.every((message, at) => message === request.messages[at]))
    sameJson(received.messages, messages);
  // not the parsed copy, whose names stand in the schema's order: the template shows tools as JSON
  const old = toolsOfFunctions({ ...request, functions: received.functions });
  const tools = old?.tools ?? callableTools(received.tools ?? undefined, omissions);
  const chosen = chooseTools(tools ?? [], old === undefined ? request.tool_choice : old.choice);
  const asked = answerFormat(received, formatParam);
  const format = chosen.forcedCall === undefined ? asked : undefined; // a call has a form of its own
  return {
    model: request.model,
    generation: {
      messages,
      ...chosen,
      ...(request.parallel_tool_calls === false || old !== undefined ? { singleCall: true as const } : {}),
      ...(format === undefined ? {} : { format }),
      templateVariables: {
        ...(format === undefined ? {} : { enable_thinking: false }),
        ...request.chat_template_kwargs,
        ...(request.enable_thinking == null ? {} : { enable_thinking: request.enable_thinking }),
      },
      sampling: samplingOf(request),
      choices: request.n ?? 1,
      ...(request.logprobs === true ? { topLogProbs: request.top_logprobs ?? 0 } : {}),
    },
    tools,
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    session: request.session_id ?? undefined,
    user: userText(request.user)?.trim() || undefined,
    ignored: omissions.all(),
    ...(old === undefined ? {} : { oldCalls: true as const }),
  };
}

/** Fields that are not read. */
function lookAtOthers(body: Readonly<Record<string, unknown>>, omissions: Omissions): void {
  const rules: Readonly<Record<string, FieldRule>> = requestFields;
  for (const [name, value] of Object.entries(body)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) omissions.field(name);
    else if (rule.does === 'ignored' && !rule.harmless(value)) omissions.field(name, `${rule.about}.`);
    else if (rule.does === 'refused' && !rule.harmless(value))
      throw ServingError.UNSUPPORTED_PARAMETER({ param: name, detail: `${rule.about}.` });
  }
}

type Tools = NonNullable<ChatRequestBody['tools']>;
type FunctionTool = Tools[number] & { readonly function: { readonly name: string } };

/** The client's own; the same list where there are no others. */
function callableTools(tools: Tools | undefined, omissions: Omissions): readonly FunctionTool[] | undefined {
  const isCallable = (tool: Tools[number], at: number): tool is FunctionTool => {
    if (tool.type === 'function') return true;
    if (tool.type !== 'custom') omissions.tool(`tools[${at}]`, tool.type);
    else
      throw ServingError.UNSUPPORTED_PARAMETER({
        param: `tools[${at}].type`,
        detail: 'a tool of type custom is none; send a function.',
      });
    return false;
  };
  const callable = tools?.filter(isCallable);
  return callable?.length === tools?.length ? (tools as readonly FunctionTool[] | undefined) : callable;
}

function invalid(error: z.ZodError): Error {
  const issue = error.issues[0]!;
  const param = issue.path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : index === 0 ? String(step) : `.${String(step)}`,
    )
    .join('')
    .slice(0, 200);
  return ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': ${issue.message}.` });
}

function samplingOf(request: ChatRequestBody): GenerationRequest['sampling'] {
  const { top_p, top_k, seed, stop } = request;
  const temperature = top_p === 0 ? 0 : request.temperature; // no share of the likeliest: the likeliest alone
  const maxTokens = limitOf(request.max_completion_tokens ?? request.max_tokens);
  return {
    ...(temperature == null ? {} : { temperature }),
    ...(top_p == null || top_p === 0 ? {} : { topP: top_p }),
    ...(top_k == null ? {} : { topK: Math.max(0, top_k) }),
    ...(request.min_p == null ? {} : { minP: request.min_p }),
    ...(seed == null ? {} : { seed }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    stop: stop == null ? [] : typeof stop === 'string' ? [stop] : stop,
    ...(request.stop_token_ids == null ? {} : { stopTokenIds: request.stop_token_ids }),
    frequencyPenalty: request.frequency_penalty ?? 0,
    presencePenalty: request.presence_penalty ?? 0,
    repetitionPenalty: request.repetition_penalty ?? 1,
    logitBias: Object.entries(request.logit_bias ?? {}).map(([id, bias]) => [Number(id), bias] as const),
  };
}
