import { z } from 'zod';
import { sameJson } from '../../../../shared/chat/json-text.ts';
import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import type { ChatRequest } from '../../answer/chat-request.ts';
import { ServingError } from '../../errors.ts';
import type { GenerationRequest } from '../../generation.ts';
import type { FieldRule } from './field-rule.ts';
import { toolsOfFunctions } from './old-functions.ts';
import { createOmissions, type Omissions } from './omissions.ts';
import { arePlainMessages, arePlainTools } from './plain-chat.ts';
import { type ChatRequestBody, chatRequestSchema, requestFields } from './request-fields.ts';
import { messagesOf } from './request-messages.ts';
import { limitOf, userText } from './shared-fields.ts';
import { answerFormat, type FormatBody } from './structured-output.ts';
import { chooseTools } from './tool-choice.ts';

/** For requests whose messages and tools are known to be valid. */
const settingsSchema = chatRequestSchema.extend({
  messages: z.custom<ChatRequestBody['messages']>(),
  tools: z.custom<ChatRequestBody['tools']>().optional(),
});

type Options = {
  /** The API's name for `response_format`. */
  readonly formatParam?: string;
  /** Omissions that the translation from another API noted. */
  readonly omissions?: Omissions;
};

/** Checks a body against the field table. @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER */
export function parseChatRequest(
  body: unknown,
  { formatParam = 'response_format', omissions = createOmissions() }: Options = {},
): ChatRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw ServingError.INVALID_REQUEST({ detail: 'The body must be a JSON object.' });
  }
  noteOtherFields(body as Readonly<Record<string, unknown>>, omissions);
  const received = body as Pick<ChatRequestBody, 'messages' | 'tools' | 'functions'> & FormatBody;
  const isPlain = arePlainMessages(received.messages) && arePlainTools(received.tools);
  const parsed = (isPlain ? settingsSchema : chatRequestSchema).safeParse(body);
  if (!parsed.success) throw invalid(parsed.error);
  const request = parsed.data;
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw ServingError.INVALID_REQUEST({
      param: 'top_logprobs',
      detail: "'top_logprobs' requires 'logprobs'.",
    });
  }
  const messages = isPlain
    ? (received.messages as readonly ChatMessage[])
    : messagesOf(request.messages, omissions);
  if (!isPlain && messages.every((message, at) => message === request.messages[at]))
    sameJson(received.messages, messages);
  // not the parsed copy, which has the schema's member order: the template shows tools as JSON
  const old = toolsOfFunctions({ ...request, functions: received.functions });
  const tools = old?.tools ?? callableTools(received.tools ?? undefined, omissions);
  const chosen = chooseTools(tools ?? [], old === undefined ? request.tool_choice : old.choice);
  const requiredFormat = answerFormat(received, formatParam);
  const format = chosen.forcedCall === undefined ? requiredFormat : undefined; // a forced call has its own format
  const wantsNoReasoning = request.reasoning_effort === 'none';
  return {
    model: request.model,
    generation: {
      messages,
      ...chosen,
      ...defined({
        // servers refuse a limit of calls in a request without tools
        singleCall:
          chosen.tools.length > 0 && (request.parallel_tool_calls === false || old !== undefined)
            ? (true as const)
            : undefined,
        format,
      }),
      templateVariables: {
        ...defined({ enable_thinking: format === undefined && !wantsNoReasoning ? undefined : false }),
        ...request.chat_template_kwargs,
        ...defined({
          enable_thinking: request.enable_thinking == null ? undefined : request.enable_thinking,
        }),
      },
      sampling: samplingOf(request),
      choices: request.n ?? 1,
      ...defined({ topLogProbs: request.logprobs === true ? (request.top_logprobs ?? 0) : undefined }),
    },
    tools,
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    session: request.session_id ?? undefined,
    user: userText(request.user)?.trim() || undefined,
    ignored: omissions.all(),
    ...defined({ oldCalls: old === undefined ? undefined : (true as const) }),
  };
}

/** Handles unknown, ignored and refused fields. */
function noteOtherFields(body: Readonly<Record<string, unknown>>, omissions: Omissions): void {
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

/** The functions of a request; the same list if it contains nothing else. */
function callableTools(tools: Tools | undefined, omissions: Omissions): readonly FunctionTool[] | undefined {
  const isCallable = (tool: Tools[number], at: number): tool is FunctionTool => {
    if (tool.type === 'function') return true;
    if (tool.type !== 'custom') omissions.tool(`tools[${at}]`, tool.type);
    else
      throw ServingError.UNSUPPORTED_PARAMETER({
        param: `tools[${at}].type`,
        detail: 'tools of type custom are not supported; use a function.',
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
  const temperature = top_p === 0 ? 0 : request.temperature; // top_p 0 leaves only the most likely token
  const maxTokens = limitOf(request.max_completion_tokens ?? request.max_tokens);
  return {
    ...defined({
      temperature: temperature == null ? undefined : temperature,
      topP: top_p == null || top_p === 0 ? undefined : top_p,
      topK: top_k == null ? undefined : Math.max(0, top_k),
      minP: request.min_p == null ? undefined : request.min_p,
      seed: seed == null ? undefined : seed,
      maxTokens,
    }),
    stop: stop == null ? [] : typeof stop === 'string' ? [stop] : stop,
    ...defined({ stopTokenIds: request.stop_token_ids == null ? undefined : request.stop_token_ids }),
    frequencyPenalty: request.frequency_penalty ?? 0,
    presencePenalty: request.presence_penalty ?? 0,
    repetitionPenalty: request.repetition_penalty ?? 1,
    logitBias: Object.entries(request.logit_bias ?? {}).map(([id, bias]) => [Number(id), bias] as const),
  };
}
