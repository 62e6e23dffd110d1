import { type JsonText, joinJson, jsonOnce, jsonWith } from '../../../../shared/chat/json-text.ts';
import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { ServingError } from '../../errors.ts';
import type { AnswerFormat, GenerationRequest } from '../../generation.ts';
import { collectUpstream } from './answer.ts';
import { UpstreamChunk } from './chunk.ts';
import type { ChoiceChunk, UpstreamDialect } from './exchange.ts';
import { readPart } from './part.ts';
import { isPlainChunk } from './plain-chunk.ts';
import { errorFrame, messageOf } from './refusal.ts';
import type { UpstreamLogProbs } from './tokens.ts';

export type ChatDialectSetup = {
  /** including /v1 */
  readonly url: string;
  readonly logProbs: UpstreamLogProbs;
  /** of the trained model; undefined: unknown */
  readonly vocabularySize?: number | undefined;
  /** request `return_token_ids`, an extension of vLLM */
  readonly tokenIds: boolean;
  /**
   * Send every sampling setting, even neutral ones: vLLM would silently replace missing settings by those of the
   * model's generation_config.json, such as a repetition penalty.
   */
  readonly allSettings: boolean;
  /**
   * vLLM does not receive the limit of a single call: it would generate and count further calls without returning
   * them. The answer is ended here when a second call begins.
   */
  readonly hidesCalls?: true;
  /** vLLM: the arguments of a forced call may be any JSON, even `null`, unless its tool is strict. */
  readonly strictForcedCalls?: true;
  /** vLLM: reads the reasoning of earlier answers from `reasoning`, its newer name. */
  readonly renamesReasoning?: true;
  /** The field that separates the cache by key. Absent if the engine has none. */
  readonly saltField?: 'cache_salt' | 'extra_key';
  /** SGLang: a separate field names the adapter, in addition to the base model. */
  readonly adapterField?: true;
  /** An answer names its model, which must be the requested one. */
  readonly namesModel: boolean;
};

/** OpenAI's chat completions, streamed, optionally with vLLM's extensions. */
export const chatDialect = (setup: ChatDialectSetup): UpstreamDialect => ({
  prepare: async (request, { version, model, answersAs = model }) => {
    const expectedModel = setup.namesModel ? answersAs : undefined;
    const { logProbs, vocabularySize } = setup;
    const hidesCached = request.cacheSalt !== undefined && setup.saltField === undefined;
    const answers = collectUpstream(request, {
      version,
      logProbs,
      vocabularySize,
      model: expectedModel,
      hidesCached,
    });
    return {
      address: `${setup.url}/chat/completions`,
      body: chatJson(setup, request, setup.adapterField && version > 0 ? { lora_path: model } : { model }),
      promptTokens: () => answers[0]?.promptTokens(),
      refusal: (data) => errorFrame(data, 500),
      read: (data) => {
        const frame = readPart(UpstreamChunk, data, isPlainChunk);
        if (frame.error != null)
          throw ServingError.UPSTREAM_FAILED({ detail: messageOf(data) || 'no details given' });
        return answers.flatMap((answer, choice): readonly ChoiceChunk[] => {
          const chunk = answer.add(frame);
          return chunk === undefined ? [] : [{ chunk, choice }];
        });
      },
      atEnd: () =>
        answers.flatMap((answer, choice): readonly ChoiceChunk[] => {
          const chunk = answer.wholeCalls();
          return chunk === undefined ? [] : [{ chunk, choice }];
        }),
      isOver: () => answers.every((answer) => answer.hasFinished()),
      isCut: () =>
        answers.every((answer) => answer.hasFinished()) && answers.some((answer) => answer.isCut()),
      choices: (aborted) => answers.map(({ result }, index) => ({ index, generated: result(aborted) })),
    };
  },
  close: async () => {},
});

type Named = { readonly model: string } | { readonly lora_path: string };
type Settings = Pick<
  ChatDialectSetup,
  | 'logProbs'
  | 'tokenIds'
  | 'allSettings'
  | 'hidesCalls'
  | 'strictForcedCalls'
  | 'renamesReasoning'
  | 'saltField'
>;

/** The messages as the server reads them. Servers that know only OpenAI's API refuse members of other APIs. */
function messagesText(
  { renamesReasoning, allSettings }: Settings,
  messages: readonly ChatMessage[],
): JsonText {
  if (renamesReasoning && messages.some(hasReasoning)) return renamed(messages);
  if (!allSettings && messages.some(({ is_error: isError }) => isError !== undefined))
    return JSON.stringify(messages.map(({ is_error: _isError, ...message }) => message));
  return jsonOnce(messages);
}

/** Reuses the JSON text of messages and tools, which is also written to the log. */
function chatJson(
  setup: Settings,
  { messages, tools, ...request }: GenerationRequest,
  named: Named,
): JsonText {
  const { forcedCall } = request;
  const isStrict = setup.strictForcedCalls && forcedCall !== undefined;
  const bodies = {
    messages: messagesText(setup, messages),
    ...defined({
      tools: tools.length === 0 ? undefined : isStrict ? strict(tools, forcedCall) : jsonOnce(tools),
    }),
  };
  return joinJson(jsonWith(chatFields(setup, request, named), bodies));
}

type Tool = {
  readonly function?: {
    readonly name: string;
    readonly parameters?: object | null;
    readonly strict?: boolean;
  };
};

/** The tools, with the named ones strict and with an object schema. */
function strict(tools: readonly unknown[], names: readonly string[]): string {
  const strictOne = (tool: Tool): Tool => {
    if (!names.includes(tool.function?.name ?? '')) return tool;
    const parameters = { type: 'object', ...tool.function!.parameters };
    return { ...tool, function: { ...tool.function!, parameters, strict: true } };
  };
  return JSON.stringify((tools as readonly Tool[]).map(strictOne));
}

const hasReasoning = ({ reasoning_content: reasoning }: ChatMessage): boolean => Boolean(reasoning);

/** Under both names: vLLM before 2026 reads the older one. */
const renamed = (messages: readonly ChatMessage[]): string => JSON.stringify(withBothNames(messages));

export const withBothNames = (messages: readonly ChatMessage[]): readonly object[] =>
  messages.map((message) =>
    hasReasoning(message) ? { ...message, reasoning: message.reasoning_content } : message,
  );

function chatFields(
  setup: Settings,
  { templateVariables, sampling, ...request }: Omit<GenerationRequest, 'messages' | 'tools'>,
  named: Named,
): object {
  const wantsLogProbs = setup.logProbs !== 'none' || request.topLogProbs !== undefined;
  const { repetitionPenalty, topK } = sampling;
  // for a format, we disable reasoning ourselves; not every server knows the field
  const { enable_thinking: thinks, ...variables } = templateVariables;
  const isOurSetting = request.format !== undefined && !setup.allSettings && thinks === false;
  const hasNoVariables = Object.keys(isOurSetting ? variables : templateVariables).length === 0;
  const settings = setup.allSettings
    ? { top_k: topK === 0 ? -1 : topK, min_p: sampling.minP ?? 0, repetition_penalty: repetitionPenalty }
    : {
        top_k: topK,
        min_p: sampling.minP,
        repetition_penalty: repetitionPenalty === 1 ? undefined : repetitionPenalty,
      };
  const filled: Readonly<Record<string, unknown>> = {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    ...settings,
    seed: sampling.seed,
    max_tokens: sampling.maxTokens,
    n: request.choices === 1 ? undefined : request.choices,
    ...(request.format === undefined ? stopsOf(sampling) : formatFieldsOf(request.format)),
    frequency_penalty: sampling.frequencyPenalty || undefined,
    presence_penalty: sampling.presencePenalty || undefined,
    logit_bias: sampling.logitBias.length === 0 ? undefined : Object.fromEntries(sampling.logitBias),
    tool_choice: request.forcedCall && toolChoiceOf(request.forcedCall),
    parallel_tool_calls:
      request.singleCall && (!setup.hidesCalls || request.forcedCall !== undefined) ? false : undefined,
    chat_template_kwargs: hasNoVariables ? undefined : templateVariables,
    logprobs: wantsLogProbs || undefined,
    top_logprobs: request.topLogProbs || undefined,
    return_token_ids: setup.tokenIds || undefined,
    ...(setup.saltField === undefined ? {} : { [setup.saltField]: request.cacheSalt }),
  };
  return {
    model: 'default',
    ...named,
    stream: true,
    stream_options: { include_usage: true },
    ...filled, // JSON omits undefined members
  };
}

const stopsOf = ({ stop, stopTokenIds }: GenerationRequest['sampling']) => ({
  stop: stop.length === 0 ? undefined : stop,
  stop_token_ids: stopTokenIds,
});

/** OpenAI's field if there is one, else vLLM's. */
function formatFieldsOf(format: AnswerFormat): Readonly<Record<string, unknown>> {
  switch (format.kind) {
    case 'json':
      return { response_format: { type: 'json_object' } };
    case 'schema': {
      const { name = 'answer', schema } = format;
      return { response_format: { type: 'json_schema', json_schema: { name, schema, strict: true } } };
    }
    case 'regex':
      return { structured_outputs: { regex: format.regex } };
    case 'choice':
      return { structured_outputs: { choice: format.of } };
    case 'grammar':
      return { structured_outputs: { grammar: format.grammar } };
  }
}

const toolChoiceOf = ([name, ...others]: NonNullable<GenerationRequest['forcedCall']>) =>
  others.length === 0 ? { type: 'function', function: { name } } : 'required';
