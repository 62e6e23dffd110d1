import { defined } from '../../../../shared/lang/defined.ts';
import { loadChatTemplate } from '../../../../shared/policy/text/chat-template.ts';
import { loadTokenizer } from '../../../../shared/policy/text/tokenizer.ts';
import type { Logger } from '../../../../shared/runtime/logger.ts';
import { toolCallForm } from '../../decoding/tool-call-form.ts';
import { ServingError } from '../../errors.ts';
import type { AnswerFormat, GenerationRequest } from '../../generation.ts';
import type { PromptCalls, PromptSetup } from '../local/protocol.ts';
import { openPromptThread } from '../open-prompt-thread.ts';
import type { Prompt } from '../prompt.ts';
import { answerTextFor, sequenceRequest } from '../sequence-text.ts';
import type { WatchedThread } from '../watched-thread.ts';
import { chatDialect } from './chat.ts';
import type { ChoiceChunk, UpstreamDialect } from './exchange.ts';
import type { ModelLease } from './models.ts';
import { readPart } from './part.ts';
import { withPlainTexts } from './plain.ts';
import { errorFrame, type UpstreamRefusal } from './refusal.ts';
import { collectSglang } from './sglang-answer.ts';
import { SglangChunk } from './sglang-chunk.ts';
import type { UpstreamLogProbs } from './tokens.ts';

type SglangSetup = {
  /** without /v1 */
  readonly root: string;
  readonly logProbs: UpstreamLogProbs;
  /** of the trained model; undefined: unknown */
  readonly vocabularySize?: number | undefined;
  readonly prompts: PromptSetup;
  /** ms for one prompt */
  readonly promptTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
};

/** The status of an error that SGLang sends as the first event of an answer, without a status. */
const FAULT_STATUS = 400;

/**
 * SGLang's /generate: prompts are rendered and answers parsed here, as with the local engine; only token ids are
 * exchanged. Its chat API does not stream ids. Forced calls use the chat API, whose grammar enforces them; such
 * turns do not train anyway.
 */
export async function openSglangDialect({
  root,
  logProbs,
  vocabularySize,
  prompts: setup,
  promptTimeoutMs,
  logger,
}: SglangSetup): Promise<UpstreamDialect> {
  const { modelFolder } = setup;
  const [prompts, tokenizer, template] = await Promise.all([
    openPromptThread(setup, promptTimeoutMs, logger),
    loadTokenizer(modelFolder),
    loadChatTemplate(modelFolder),
  ]);
  const model = { tokenizer, toolCallForm: toolCallForm(template) };
  const chat = chatDialect({
    url: `${root}/v1`,
    logProbs: 'none',
    tokenIds: false,
    allSettings: true,
    namesModel: false,
    adapterField: true,
    saltField: 'extra_key',
  });
  const forcedCalls = withPlainTexts(chat, tokenizer);
  return {
    prepare: async (request, lease) => {
      if (request.forcedCall !== undefined) return forcedCalls.prepare(request, lease);
      const prompt = await promptOf(prompts, request);
      const answers = Array.from({ length: request.choices }, (_, index) =>
        collectSglang({
          request,
          prompt,
          index,
          tokenizer,
          logProbs,
          vocabularySize,
          version: lease.version,
          text: answerTextFor(model, sequenceRequest(request, prompt)),
        }),
      );
      return {
        address: `${root}/generate`,
        body: JSON.stringify(generateBody(request, prompt, lease)),
        promptTokens: () => prompt.promptIds.length,
        refusal: (data) => errorFrame(data, FAULT_STATUS) ?? refusedByAbort(readPart(SglangChunk, data)),
        read: (data): readonly ChoiceChunk[] => {
          const event = readPart(SglangChunk, data);
          const fault = event.error ?? refusedByAbort(event)?.text;
          if (fault != null) throw ServingError.UPSTREAM_FAILED({ detail: messageOfFault(fault) });
          const choice = event.index ?? 0;
          const chunk = answers[choice]?.add(event);
          return chunk === undefined ? [] : [{ chunk, choice }];
        },
        atEnd: () => [],
        isOver: () => answers.every((answer) => answer.isOver()),
        isCut: () => answers.every((answer) => answer.isOver()) && answers.some((answer) => answer.isCut()),
        choices: (aborted) => answers.map(({ result }, index) => ({ index, generated: result(aborted) })),
      };
    },
    countTokens: (parts) => prompts.call('count', parts),
    problem: prompts.problem,
    failed: prompts.failed,
    close: async () => {
      await prompts.close();
    },
  };
}

/** SGLang refuses a prompt that leaves fewer tokens of the context, regardless of the requested number. */
const LEAST_ROOM = 6;

async function promptOf(
  prompts: Pick<WatchedThread<PromptCalls>, 'call'>,
  request: GenerationRequest,
): Promise<Prompt> {
  const grammarless = withoutGrammar(request);
  const { maxTokens } = grammarless.sampling;
  if (maxTokens === undefined || maxTokens >= LEAST_ROOM) return prompts.call('prompt', grammarless);
  const sampling = { ...grammarless.sampling, maxTokens: LEAST_ROOM };
  return { ...(await prompts.call('prompt', { ...grammarless, sampling })), maxTokens };
}

/** The server enforces the format; the prompt only needs to know that there is one. */
const withoutGrammar = ({ format, ...request }: GenerationRequest): GenerationRequest =>
  format === undefined ? request : { ...request, format: { kind: 'json', param: format.param } };

/**
 * SGLang's scheduler refuses a request (full queue, prompt too long) or aborts it with a status. An abort without a
 * status was requested, and is a normal end.
 */
function refusedByAbort({ meta_info: info }: SglangChunk): UpstreamRefusal | undefined {
  const { type, status_code: status, message } = info?.finish_reason ?? {};
  if (type !== 'abort' || status == null || status < 400) return undefined;
  return { status, text: message ?? 'no details given', retryAfterSeconds: undefined };
}

const messageOfFault = (fault: string | { readonly message?: string | undefined }): string =>
  (typeof fault === 'string' ? fault : fault.message) ?? 'no details given';

/** Sends every setting, since the server does not report its defaults. */
function generateBody(
  { sampling, choices, topLogProbs, format, cacheSalt }: GenerationRequest,
  { promptIds, maxTokens }: Prompt,
  { version, model }: ModelLease,
): object {
  const { topK = 0, logitBias } = sampling;
  // stops must not cut a document of a format
  const { stop, stopTokenIds } = format === undefined ? sampling : { stop: [], stopTokenIds: undefined };
  return {
    input_ids: promptIds,
    sampling_params: {
      max_new_tokens: maxTokens,
      temperature: sampling.temperature ?? 1,
      top_p: sampling.topP ?? 1,
      top_k: topK === 0 ? -1 : topK,
      min_p: sampling.minP ?? 0,
      frequency_penalty: sampling.frequencyPenalty,
      presence_penalty: sampling.presencePenalty,
      repetition_penalty: sampling.repetitionPenalty,
      ...defined({
        n: choices === 1 ? undefined : choices,
        stop: stop.length === 0 ? undefined : stop,
        stop_token_ids: stopTokenIds,
        logit_bias: logitBias.length === 0 ? undefined : Object.fromEntries(logitBias),
        sampling_seed: sampling.seed,
      }),
      ...(format === undefined ? {} : grammarOf(format)),
    },
    stream: true,
    return_logprob: true,
    ...defined({
      top_logprobs_num: topLogProbs === undefined || topLogProbs === 0 ? undefined : topLogProbs,
      lora_path: version === 0 ? undefined : model,
      extra_key: cacheSalt,
    }),
  };
}

function grammarOf(format: AnswerFormat): object {
  switch (format.kind) {
    case 'json':
      return { json_schema: '{"type": "object"}' };
    case 'schema':
      return { json_schema: JSON.stringify(format.schema) };
    case 'regex':
      return { regex: format.regex };
    case 'choice':
      return { ebnf: `root ::= ${format.of.map((text) => JSON.stringify(text)).join(' | ')}` };
    case 'grammar':
      return { ebnf: format.grammar };
  }
}
