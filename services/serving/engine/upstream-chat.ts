import { type JsonText, joinJson, jsonOnce, jsonWith } from '../../../shared/chat/json-text.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { ServingError } from '../errors.ts';
import type { AnswerFormat } from '../format/answer-format.ts';
import type { GenerationRequest } from './engine.ts';
import { isPlainChunk } from './plain-chunk.ts';
import { collectUpstream } from './upstream-answer.ts';
import { UpstreamChunk } from './upstream-chunk.ts';
import type { HeardChunk, UpstreamDialect } from './upstream-exchange.ts';
import { readPart } from './upstream-part.ts';
import { errorFrame, messageOf } from './upstream-refusal.ts';
import type { UpstreamLogProbs } from './upstream-tokens.ts';

export type ChatDialectSetup = {
  /** with its /v1 */
  readonly url: string;
  readonly logProbs: UpstreamLogProbs;
  /** of the model that trains; undefined: not known */
  readonly vocabularySize?: number | undefined;
  /** ask for `return_token_ids`, vLLM's extension */
  readonly tokenIds: boolean;
  /**
   * Every setting of sampling is sent, also one that is off: vLLM would fill in those of the model's
   * generation_config.json, a repetition penalty among them, and not say so.
   */
  readonly allSettings: boolean;
  /**
   * vLLM: it would go on with further calls that it does not show, and count their tokens. So it is not told
   * that one is enough: the answer ends here where a second one begins.
   */
  readonly hidesCalls?: true;
  /** vLLM: the arguments of a call that has to come are of any JSON, `null` too, but where its tool is strict. */
  readonly strictForcedCalls?: true;
  /** vLLM: the thoughts of earlier answers are read from `reasoning`, their newer name. */
  readonly renamesThoughts?: true;
  /** The field that keeps what the engine caches for one key apart. Absent: it has none. */
  readonly saltField?: 'cache_salt' | 'extra_key';
  /** SGLang: the adapter is named in a field of its own, beside the base model. */
  readonly adapterField?: true;
  /** An answer names the model that gave it, and that has to be the one that was asked. */
  readonly namesModel: boolean;
};

/** OpenAI's chat completions, streamed, with vLLM's extensions where they are wanted. */
export const chatDialect = (setup: ChatDialectSetup): UpstreamDialect => ({
  ask: async (request, { version, model, answersAs = model }) => {
    const expected = setup.namesModel ? answersAs : undefined;
    const { logProbs, vocabularySize } = setup;
    const hidesCached = request.cacheSalt !== undefined && setup.saltField === undefined;
    const answers = collectUpstream(request, {
      ...{ version, logProbs, vocabularySize, model: expected, hidesCached },
    });
    return {
      address: `${setup.url}/chat/completions`,
      body: chatJson(setup, request, setup.adapterField && version > 0 ? { lora_path: model } : { model }),
      promptTokens: () => answers[0]?.promptTokens(),
      refusal: (data) => errorFrame(data, 500),
      hear: (data) => {
        const frame = readPart(UpstreamChunk, data, isPlainChunk);
        if (frame.error != null)
          throw ServingError.UPSTREAM_FAILED({ detail: messageOf(data) || 'it says no more' });
        return answers.flatMap((answer, choice): readonly HeardChunk[] => {
          const chunk = answer.add(frame);
          return chunk === undefined ? [] : [{ chunk, choice }];
        });
      },
      rest: () =>
        answers.flatMap((answer, choice): readonly HeardChunk[] => {
          const chunk = answer.rest();
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
  | 'renamesThoughts'
  | 'saltField'
>;

/** Messages and tools, which are most of it, are the text that the log takes too. */
function chatJson(setup: Settings, { messages, tools, ...asked }: GenerationRequest, named: Named): JsonText {
  const { forcedCall } = asked;
  const isStrict = setup.strictForcedCalls && forcedCall !== undefined;
  const bodies = {
    messages: setup.renamesThoughts && messages.some(hasThoughts) ? renamed(messages) : jsonOnce(messages),
    ...(tools.length === 0 ? {} : { tools: isStrict ? strict(tools, forcedCall) : jsonOnce(tools) }),
  };
  return joinJson(jsonWith(chatFields(setup, asked, named), bodies));
}

type Tool = { readonly function?: { readonly name: string; readonly parameters?: object | null } };

/** Those that may have to be called, strict and with an object for arguments. */
function strict(tools: readonly unknown[], names: readonly string[]): string {
  const strictOne = (tool: Tool): Tool => {
    if (!names.includes(tool.function?.name ?? '')) return tool;
    const parameters = { type: 'object', ...tool.function!.parameters };
    return { ...tool, function: { ...tool.function!, ...{ parameters, strict: true } } };
  };
  return JSON.stringify((tools as readonly Tool[]).map(strictOne));
}

const hasThoughts = ({ reasoning_content: thoughts }: ChatMessage): boolean => Boolean(thoughts);

/** Under both names: vLLM took the older one until 2026. */
const renamed = (messages: readonly ChatMessage[]): string => JSON.stringify(withBothNames(messages));

export const withBothNames = (messages: readonly ChatMessage[]): readonly object[] =>
  messages.map((message) =>
    hasThoughts(message) ? { ...message, reasoning: message.reasoning_content } : message,
  );

function chatFields(
  setup: Settings,
  { templateVariables, sampling, ...asked }: Omit<GenerationRequest, 'messages' | 'tools'>,
  named: Named,
): object {
  const wantsLogProbs = setup.logProbs !== 'none' || asked.topLogProbs !== undefined;
  const { repetitionPenalty, topK } = sampling;
  // that an answer of a format has no reasoning is our own word; not every server knows the field
  const { enable_thinking: thinks, ...variables } = templateVariables;
  const isOwnWord = asked.format !== undefined && !setup.allSettings && thinks === false;
  const saysNothing = Object.keys(isOwnWord ? variables : templateVariables).length === 0;
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
    n: asked.choices === 1 ? undefined : asked.choices,
    ...(asked.format === undefined ? stopsOf(sampling) : formatFieldsOf(asked.format)),
    frequency_penalty: sampling.frequencyPenalty || undefined,
    presence_penalty: sampling.presencePenalty || undefined,
    logit_bias: sampling.logitBias.length === 0 ? undefined : Object.fromEntries(sampling.logitBias),
    tool_choice: asked.forcedCall && toolChoiceOf(asked.forcedCall),
    parallel_tool_calls:
      asked.singleCall && (!setup.hidesCalls || asked.forcedCall !== undefined) ? false : undefined,
    chat_template_kwargs: saysNothing ? undefined : templateVariables,
    logprobs: wantsLogProbs || undefined,
    top_logprobs: asked.topLogProbs || undefined,
    return_token_ids: setup.tokenIds || undefined,
    ...(setup.saltField === undefined ? {} : { [setup.saltField]: asked.cacheSalt }),
  };
  return {
    model: 'default',
    ...named,
    stream: true,
    stream_options: { include_usage: true },
    ...filled, // JSON leaves out what is undefined
  };
}

const stopsOf = ({ stop, stopTokenIds }: GenerationRequest['sampling']) => ({
  stop: stop.length === 0 ? undefined : stop,
  stop_token_ids: stopTokenIds,
});

/** OpenAI's field where it has one; else vLLM's. */
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

/** Whoever may call one tool alone has to call that one. */
const toolChoiceOf = ([name, ...others]: NonNullable<GenerationRequest['forcedCall']>) =>
  others.length === 0 ? { type: 'function', function: { name } } : 'required';
