import { z } from 'zod';
import { sameJson } from '../../../shared/chat/json-text.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { GenerationRequest } from '../engine/engine.ts';
import { ServingError } from '../errors.ts';
import { arePlainMessages, arePlainTools } from './plain-chat.ts';
import { type ChatRequestBody, chatRequestSchema, type FieldRule, requestFields } from './request-fields.ts';
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
  /** Of OpenAI's Responses: what the response says back of its request. */
  readonly response?: Readonly<Record<string, unknown>> & { readonly store: boolean };
};

/** All but messages and tools, which then need no look. */
const settingsSchema = chatRequestSchema.extend({
  messages: z.custom<ChatRequestBody['messages']>(),
  tools: z.custom<ChatRequestBody['tools']>().optional(),
});

/**
 * Checks a body against the table of fields. `formatParam`: how another API calls its `response_format`.
 * @throws ServingError INVALID_REQUEST, UNSUPPORTED_PARAMETER
 */
export function parseChatRequest(body: unknown, formatParam = 'response_format'): ChatRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw ServingError.INVALID_REQUEST({ detail: 'The body must be a JSON object.' });
  }
  refuseUnsupported(body as Readonly<Record<string, unknown>>);
  const received = body as Pick<ChatRequestBody, 'messages' | 'tools'> & FormatBody;
  const isPlain = arePlainMessages(received.messages) && arePlainTools(received.tools);
  const parsed = (isPlain ? settingsSchema : chatRequestSchema).safeParse(body);
  if (!parsed.success) throw invalid(parsed.error);
  const request = parsed.data;
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw ServingError.INVALID_REQUEST({ param: 'top_logprobs', detail: "'top_logprobs' needs 'logprobs'." });
  }
  const messages = isPlain ? (received.messages as readonly ChatMessage[]) : request.messages.map(messageOf);
  if (!isPlain && messages.every((message, at) => message === request.messages[at]))
    sameJson(received.messages, messages);
  // not the parsed copy, whose names stand in the schema's order: the template shows tools as JSON
  const tools = received.tools ?? undefined;
  const chosen = chooseTools(tools ?? [], request.tool_choice);
  const asked = answerFormat(received, formatParam);
  const format = chosen.forcedCall === undefined ? asked : undefined; // a call has a form of its own
  return {
    model: request.model,
    generation: {
      messages,
      ...chosen,
      ...(request.parallel_tool_calls === false ? { singleCall: true as const } : {}),
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
    user: request.user?.trim() || undefined,
  };
}

function refuseUnsupported(body: Readonly<Record<string, unknown>>): void {
  const rules: Readonly<Record<string, FieldRule>> = requestFields;
  for (const [name, value] of Object.entries(body)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule?.does === 'refused' && !rule.harmless(value)) {
      throw ServingError.UNSUPPORTED_PARAMETER({ param: name, detail: `${rule.about}.` });
    }
  }
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

type BodyMessage = ChatRequestBody['messages'][number];

/** Text parts pass as they came; what is no text is refused by its name. The same object where all of it is kept. */
function messageOf(message: BodyMessage, index: number): ChatMessage {
  if (Array.isArray(message.content)) {
    message.content.forEach((part, at) => {
      const isText = part.type === 'text' && typeof part.text === 'string';
      const isRefusal = part.type === 'refusal' && typeof part.refusal === 'string';
      if (isText || isRefusal) return;
      const param = `messages[${index}].content[${at}]`;
      throw part.type === 'text'
        ? ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': a text part needs a text.` })
        : ServingError.UNSUPPORTED_PARAMETER({
            param,
            detail: `parts of type ${part.type.slice(0, 40)}; text only.`,
          });
    });
  }
  const old = ['function_call', 'audio'].find((name) => message[name] != null);
  if (old !== undefined) {
    const param = `messages[${index}].${old}`;
    const detail = old === 'audio' ? 'messages are text.' : 'use `tool_calls`.';
    throw ServingError.UNSUPPORTED_PARAMETER({ param, detail });
  }
  const isKept = (name: string) =>
    message[name] !== null || name === 'content' || name === 'reasoning_content';
  const names = Object.keys(message);
  if (names.every(isKept)) return message as ChatMessage;
  return Object.fromEntries(names.filter(isKept).map((name) => [name, message[name]])) as ChatMessage;
}

function samplingOf(request: ChatRequestBody): GenerationRequest['sampling'] {
  const { temperature, top_p, top_k, seed, stop } = request;
  const maxTokens = request.max_completion_tokens ?? request.max_tokens;
  return {
    ...(temperature == null ? {} : { temperature }),
    ...(top_p == null ? {} : { topP: top_p }),
    ...(top_k == null ? {} : { topK: Math.max(0, top_k) }),
    ...(request.min_p == null ? {} : { minP: request.min_p }),
    ...(seed == null ? {} : { seed }),
    ...(maxTokens == null ? {} : { maxTokens }),
    stop: stop == null ? [] : typeof stop === 'string' ? [stop] : stop,
    ...(request.stop_token_ids == null ? {} : { stopTokenIds: request.stop_token_ids }),
    frequencyPenalty: request.frequency_penalty ?? 0,
    presencePenalty: request.presence_penalty ?? 0,
    repetitionPenalty: request.repetition_penalty ?? 1,
    logitBias: Object.entries(request.logit_bias ?? {}).map(([id, bias]) => [Number(id), bias] as const),
  };
}
