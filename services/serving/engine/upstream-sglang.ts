import { loadChatTemplate } from '../../../shared/policy/chat-template.ts';
import { loadTokenizer } from '../../../shared/policy/tokenizer.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import { toolCallForm } from '../chat/tool-call-form.ts';
import { ServingError } from '../errors.ts';
import type { AnswerFormat } from '../format/answer-format.ts';
import type { GenerationRequest } from './engine.ts';
import { openPromptThread } from './open-prompt-thread.ts';
import type { Prompt } from './prompt.ts';
import type { PromptCalls, PromptSetup } from './protocol.ts';
import { answerTextFor, sequenceRequest } from './sequence-text.ts';
import { collectSglang } from './sglang-answer.ts';
import { SglangChunk } from './sglang-chunk.ts';
import { chatDialect } from './upstream-chat.ts';
import type { HeardChunk, UpstreamDialect } from './upstream-exchange.ts';
import type { ModelLease } from './upstream-models.ts';
import { readPart } from './upstream-part.ts';
import { withPlainTexts } from './upstream-plain.ts';
import { errorFrame, type UpstreamRefusal } from './upstream-refusal.ts';
import type { UpstreamLogProbs } from './upstream-tokens.ts';
import type { WatchedThread } from './watched-thread.ts';

export type SglangSetup = {
  /** without /v1 */
  readonly root: string;
  readonly logProbs: UpstreamLogProbs;
  /** of the model that trains; undefined: not known */
  readonly vocabularySize?: number | undefined;
  readonly prompts: PromptSetup;
  /** ms that one prompt may take */
  readonly promptTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
};

/** A fault that SGLang finds in a request comes as the first event of the answer, without a status. */
const FAULT_STATUS = 400;

/**
 * SGLang's own /generate: prompts are made here, ids go out and come back, and text and calls are read here,
 * all as with the local engine. Its chat API gives no ids while it streams. A call that has to come is left to
 * that API, whose grammar forces it; such turns do not train anyway.
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
    ask: async (request, lease) => {
      if (request.forcedCall !== undefined) return forcedCalls.ask(request, lease);
      const prompt = await promptOf(prompts, request);
      const answers = Array.from({ length: request.choices }, (_, index) =>
        collectSglang({
          ...{ request, prompt, index, tokenizer, logProbs, vocabularySize },
          version: lease.version,
          text: answerTextFor(model, sequenceRequest(request, prompt)),
        }),
      );
      return {
        address: `${root}/generate`,
        body: JSON.stringify(generateBody(request, prompt, lease)),
        promptTokens: () => prompt.promptIds.length,
        refusal: (data) => errorFrame(data, FAULT_STATUS) ?? refusedByAbort(readPart(SglangChunk, data)),
        hear: (data): readonly HeardChunk[] => {
          const event = readPart(SglangChunk, data);
          const fault = event.error ?? refusedByAbort(event)?.text;
          if (fault != null) throw ServingError.UPSTREAM_FAILED({ detail: messageOfFault(fault) });
          const choice = event.index ?? 0;
          const chunk = answers[choice]?.add(event);
          return chunk === undefined ? [] : [{ chunk, choice }];
        },
        rest: () => [],
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

/** It takes no prompt that leaves less than so many tokens of its context, however few are asked for. */
const LEAST_ROOM = 6;

async function promptOf(
  prompts: Pick<WatchedThread<PromptCalls>, 'call'>,
  request: GenerationRequest,
): Promise<Prompt> {
  const asked = withoutItsGrammar(request);
  const { maxTokens } = asked.sampling;
  if (maxTokens === undefined || maxTokens >= LEAST_ROOM) return prompts.call('prompt', asked);
  const sampling = { ...asked.sampling, maxTokens: LEAST_ROOM };
  return { ...(await prompts.call('prompt', { ...asked, sampling })), maxTokens };
}

/** The server holds the answer to a format: all that a prompt knows is that there is one. */
const withoutItsGrammar = ({ format, ...request }: GenerationRequest): GenerationRequest =>
  format === undefined ? request : { ...request, format: { kind: 'json', param: format.param } };

/**
 * What its scheduler does not take (a queue that is full, a prompt that does not fit) or cannot go on with ends
 * as an answer that was aborted with a status; one without a status was aborted on demand, and stands as it is.
 */
function refusedByAbort({ meta_info: info }: SglangChunk): UpstreamRefusal | undefined {
  const { type, status_code: status, message } = info?.finish_reason ?? {};
  if (type !== 'abort' || status == null || status < 400) return undefined;
  return { status, text: message ?? 'it says no more', retryAfterSeconds: undefined };
}

const messageOfFault = (fault: string | { readonly message?: string | undefined }): string =>
  (typeof fault === 'string' ? fault : fault.message) ?? 'it says no more';

/** Every setting is sent: what it would use else is the server's affair, and is not told. */
function generateBody(
  { sampling, choices, topLogProbs, format, cacheSalt }: GenerationRequest,
  { promptIds, maxTokens }: Prompt,
  { version, model }: ModelLease,
): object {
  const { topK = 0, logitBias } = sampling;
  // a document of a format is not cut
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
      ...(choices === 1 ? {} : { n: choices }),
      ...(stop.length === 0 ? {} : { stop }),
      ...(stopTokenIds === undefined ? {} : { stop_token_ids: stopTokenIds }),
      ...(logitBias.length === 0 ? {} : { logit_bias: Object.fromEntries(logitBias) }),
      ...(sampling.seed === undefined ? {} : { sampling_seed: sampling.seed }),
      ...(format === undefined ? {} : grammarOf(format)),
    },
    stream: true,
    return_logprob: true,
    ...(topLogProbs === undefined || topLogProbs === 0 ? {} : { top_logprobs_num: topLogProbs }),
    ...(version === 0 ? {} : { lora_path: model }),
    ...(cacheSalt === undefined ? {} : { extra_key: cacheSalt }),
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
      return { ebnf: `root ::= ${format.of.map((one) => JSON.stringify(one)).join(' | ')}` };
    case 'grammar':
      return { ebnf: format.grammar };
  }
}
