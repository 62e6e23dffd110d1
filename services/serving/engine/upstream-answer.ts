import { randomBytes } from 'node:crypto';
import type { ToolCall } from '../../../shared/events/chat-message.ts';
import type { TokenRecord } from '../../../shared/events/token-record.ts';
import { effectiveTemperature, isGreedy } from '../../../shared/policy/sampling.ts';
import type { AnswerChunk, CallPart, Generated, GenerationRequest, ShownToken } from './engine.ts';
import type { UpstreamChunk } from './upstream-chunk.ts';

/**
 * What the upstream server's log-probs are of: the raw logits, or what is left after temperature and
 * filters.
 */
export type UpstreamLogProbs = 'none' | 'raw' | 'processed';

export type UpstreamAnswer = {
  /** What of a frame can be shown; undefined when nothing can. */
  readonly add: (frame: UpstreamChunk) => AnswerChunk | undefined;
  /** The tool calls, whole. */
  readonly rest: () => AnswerChunk | undefined;
  readonly hasFinished: () => boolean;
  readonly result: (aborted: boolean) => Generated;
};

/** Puts the choices of a streamed upstream answer together. All are given every frame. */
export const collectUpstream = (
  request: GenerationRequest,
  logProbsAre: UpstreamLogProbs,
): readonly UpstreamAnswer[] =>
  Array.from({ length: request.choices }, (_, index) => collectChoice(request, logProbsAre, index));

/** One choice, with the token record where there is one. */
function collectChoice(
  request: GenerationRequest,
  logProbsAre: UpstreamLogProbs,
  index: number,
): UpstreamAnswer {
  const { choices } = request;
  const calls = new Map<number, { id: string; name: string; text: string; isTold: boolean }>();
  let promptIds: readonly number[] | undefined;
  let responseIds: number[] = [];
  let logProbs: number[] = [];
  let usage: Generated['usage'] = { promptTokens: 0, completionTokens: 0 };
  let finish: string | undefined;
  let stopSequence: string | undefined;
  const wholeCalls = (): readonly ToolCall[] =>
    [...calls.values()].map(({ id, name, text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    }));
  /** Upstream counts the tokens of all choices together: where they were not seen, each has as many. */
  const tokensOf = (seen: number): number => {
    const { completionTokens: all } = usage;
    if (all === 0 || (choices > 1 && seen > 0)) return seen;
    return Math.floor(all / choices) + (index < all % choices ? 1 : 0);
  };
  return {
    add: (frame) => {
      promptIds ??= frame.prompt_token_ids ?? undefined;
      if (frame.usage != null) {
        const { prompt_tokens, completion_tokens, prompt_tokens_details: details } = frame.usage;
        const cached = details?.cached_tokens;
        usage = {
          promptTokens: prompt_tokens,
          completionTokens: completion_tokens,
          ...(cached == null ? {} : { cachedPromptTokens: cached }),
        };
      }
      const choice = frame.choices.find((one) => (one.index ?? 0) === index);
      if (choice === undefined) return undefined;
      finish = choice.finish_reason ?? finish;
      if (typeof choice.stop_reason === 'string') stopSequence = choice.stop_reason;
      responseIds = responseIds.concat(choice.token_ids ?? []);
      const content = choice.logprobs?.content ?? [];
      logProbs = logProbs.concat(content.map(({ logprob }) => logprob));
      const callParts: CallPart[] = [];
      for (const part of choice.delta?.tool_calls ?? []) {
        const index = part.index ?? calls.size;
        if (request.singleCall === true && calls.size > 0 && !calls.has(index)) continue;
        const before = calls.get(index) ?? { id: '', name: '', text: '', isTold: false };
        const given = part.function?.arguments ?? '';
        const call = {
          id: before.id || (part.id ?? `call_${randomBytes(9).toString('hex')}`),
          name: before.name + (part.function?.name ?? ''),
          text: before.text + given,
          isTold: before.isTold || given !== '', // the name is whole where the arguments begin
        };
        calls.set(index, call);
        if (given !== '')
          callParts.push({ id: call.id, ...(before.isTold ? {} : { name: call.name }), arguments: given });
      }
      const text = choice.delta?.content ?? '';
      const reasoning = choice.delta?.reasoning_content ?? '';
      const tokens = request.topLogProbs === undefined ? [] : content.map(shownToken);
      const isCalling = callParts.length > 0;
      if (text === '' && reasoning === '' && tokens.length === 0 && !isCalling) return undefined;
      return {
        text,
        tokens,
        ...(reasoning === '' ? {} : { reasoning }),
        ...(isCalling ? { callParts } : {}),
      };
    },
    rest: () => (calls.size === 0 ? undefined : { text: '', tokens: [], toolCalls: wholeCalls() }),
    hasFinished: () => finish !== undefined,
    result: (aborted) => {
      const sampling = samplingOf(request, index);
      const record = tokenRecordOf({ promptIds, responseIds, logProbs }, sampling, logProbsAre);
      return {
        version: 0,
        finishReason: aborted ? 'aborted' : finishReasonOf(finish),
        ...(stopSequence === undefined ? {} : { stopSequence }),
        ...record,
        ...(changesLogits(request) ? { untrainable: 'penalties' } : {}),
        sampling,
        usage: { ...usage, completionTokens: tokensOf(Math.max(responseIds.length, logProbs.length)) },
      };
    },
  };
}

const shownToken = (entry: {
  readonly token: string;
  readonly logprob: number;
  readonly top_logprobs?: readonly { readonly token: string; readonly logprob: number }[] | null | undefined;
}): ShownToken => ({
  token: entry.token,
  logProb: entry.logprob,
  alternatives: (entry.top_logprobs ?? []).map(({ token, logprob }) => ({ token, logProb: logprob })),
});

function finishReasonOf(reason: string | undefined): Generated['finishReason'] {
  switch (reason) {
    case 'length':
    case 'tool_calls':
    case 'content_filter':
      return reason;
    case 'function_call':
      return 'tool_calls';
    case 'abort': // vLLM and SGLang: the answer was cut off on their side
    case 'error':
      return 'aborted';
    default:
      return 'stop';
  }
}

/**
 * The upstream server fills in what the client left out; where it does not say, OpenAI's defaults stand. What
 * seeds it gives to the choices after the first one is not told.
 */
function samplingOf({ sampling }: GenerationRequest, choice: number): Generated['sampling'] {
  return {
    temperature: sampling.temperature ?? 1,
    topP: sampling.topP ?? 1,
    topK: sampling.topK ?? 0,
    maxTokens: sampling.maxTokens ?? 0,
    ...(sampling.minP === undefined || sampling.minP === 0 ? {} : { minP: sampling.minP }),
    ...(sampling.seed === undefined || choice > 0 ? {} : { seed: sampling.seed }),
    ...(sampling.stop.length === 0 ? {} : { stop: sampling.stop }),
    ...(sampling.stopTokenIds === undefined ? {} : { stopTokenIds: sampling.stopTokenIds }),
  };
}

const changesLogits = ({ sampling }: GenerationRequest): boolean =>
  sampling.frequencyPenalty !== 0 ||
  sampling.presencePenalty !== 0 ||
  sampling.repetitionPenalty !== 1 ||
  sampling.logitBias.length > 0;

type Collected = {
  readonly promptIds: readonly number[] | undefined;
  readonly responseIds: readonly number[];
  readonly logProbs: readonly number[];
};

/** Nothing missing is filled in: no ids or not one log-prob per id, no record, and the reason. */
function tokenRecordOf(
  { promptIds, responseIds, logProbs }: Collected,
  { temperature, topP, topK, minP }: Generated['sampling'],
  logProbsAre: UpstreamLogProbs,
): { readonly tokens: TokenRecord | null; readonly untrainable?: string } {
  if (promptIds === undefined || promptIds.length === 0 || responseIds.length === 0) {
    return { tokens: null, untrainable: 'no-token-ids' };
  }
  if (logProbs.length !== responseIds.length) return { tokens: null, untrainable: 'no-log-probs' };
  const wanted = effectiveTemperature(temperature);
  const unfiltered = topP === 1 && topK === 0 && minP === undefined;
  const fits =
    (logProbsAre === 'raw' && wanted === 1) ||
    (logProbsAre === 'processed' && wanted === temperature && unfiltered);
  return {
    tokens: {
      promptIds,
      responseIds,
      logProbs,
      effectiveTemperature: wanted,
      greedy: isGreedy(temperature),
      filters: { topP, topK, ...(minP === undefined ? {} : { minP }) },
    },
    ...(fits ? {} : { untrainable: 'logprob-temperature' }),
  };
}
