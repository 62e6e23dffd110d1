import { randomBytes } from 'node:crypto';
import type { ToolCall } from '../../../../shared/events/chat-message.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import type { AnswerChunk, CallPart, Generated, GenerationRequest, ShownToken } from '../../generation.ts';
import type { UpstreamChunk } from './chunk.ts';
import { type UpstreamFinish, untrainableFinish, upstreamFinish } from './finish.ts';
import {
  IMPOSSIBLE,
  tokenRecordOf,
  type UpstreamLogProbs,
  untrainableRequest,
  usedSampling,
} from './tokens.ts';

type AnsweringModel = {
  readonly version: number;
  readonly logProbs: UpstreamLogProbs;
  /** of the trained model; undefined: unknown */
  readonly vocabularySize?: number | undefined;
  /** The model that every part of the answer must name; undefined: names are not checked. */
  readonly model: string | undefined;
  /** The number of cached tokens is not passed on: all keys share the cache, so it would reveal prompts of others. */
  readonly hidesCached?: boolean;
};

type UpstreamAnswer = {
  /** The part of a frame that can be shown, if any. */
  readonly add: (frame: UpstreamChunk) => AnswerChunk | undefined;
  /** The complete tool calls. */
  readonly wholeCalls: () => AnswerChunk | undefined;
  /** Undefined until the engine reports it. */
  readonly promptTokens: () => number | undefined;
  /** The answer has ended, upstream or here. */
  readonly hasFinished: () => boolean;
  /** It was ended here: a second call began, but only one is allowed. */
  readonly isCut: () => boolean;
  readonly result: (aborted: boolean) => Generated;
};

/** Collects the choices of a streamed upstream answer. Every choice receives every frame. */
export const collectUpstream = (
  request: GenerationRequest,
  answering: AnsweringModel,
): readonly UpstreamAnswer[] =>
  Array.from({ length: request.choices }, (_, index) => collectChoice(request, answering, index));

/** Collects one choice, with its token record if possible. */
function collectChoice(request: GenerationRequest, answering: AnsweringModel, index: number): UpstreamAnswer {
  const calls = createCallCollector(request.singleCall === true);
  let promptIds: readonly number[] | undefined;
  const responseIds: number[] = [];
  const logProbs: number[] = [];
  let usage: Generated['usage'] | undefined;
  let isMixed = false;
  let finish: string | undefined;
  let stopSequence: string | undefined;
  return {
    add: (frame) => {
      promptIds ??= frame.prompt_token_ids ?? undefined;
      isMixed ||= answering.model !== undefined && frame.model != null && frame.model !== answering.model;
      if (frame.usage != null) usage = usageOf(frame.usage, answering.hidesCached);
      const choice = frame.choices.find((other) => (other.index ?? 0) === index);
      if (choice === undefined || calls.isCut()) return undefined;
      finish = choice.finish_reason || finish; // some servers send '' until the end
      if (typeof choice.stop_reason === 'string') stopSequence = choice.stop_reason;
      for (const id of choice.token_ids ?? []) responseIds.push(id);
      const content = choice.logprobs?.content ?? [];
      for (const { logprob } of content) logProbs.push(logprob ?? Number.NaN);
      const callParts = calls.add(choice.delta?.tool_calls ?? []);
      const text = choice.delta?.content ?? '';
      const reasoning = choice.delta?.reasoning_content || choice.delta?.reasoning || '';
      const tokens = request.topLogProbs === undefined ? [] : content.map(shownToken);
      const isCalling = callParts.length > 0;
      if (text === '' && reasoning === '' && tokens.length === 0 && !isCalling) return undefined;
      return {
        text,
        tokens,
        ...defined({
          reasoning: reasoning === '' ? undefined : reasoning,
          callParts: isCalling ? callParts : undefined,
        }),
      };
    },
    wholeCalls: () => (calls.count() === 0 ? undefined : { text: '', tokens: [], toolCalls: calls.whole() }),
    promptTokens: () => promptIds?.length ?? usage?.promptTokens,
    hasFinished: () => finish !== undefined || calls.isCut(),
    isCut: calls.isCut,
    result: (aborted) => {
      const sampling = usedSampling(request, index);
      const received = Math.max(responseIds.length, logProbs.length);
      const completionTokens = tokensOfChoice(usage?.completionTokens ?? 0, received, request.choices, index);
      const promptTokens = usage?.promptTokens ?? promptIds?.length ?? 0;
      const counted = usage &&
        !aborted &&
        !calls.isCut() && { prompt: promptTokens, response: completionTokens };
      const collected = {
        promptIds,
        responseIds,
        logProbs,
        ...defined({ counted: counted ? counted : undefined }),
      };
      const ended: UpstreamFinish = calls.isCut()
        ? { finishReason: 'tool_calls' }
        : aborted || finish === undefined
          ? { finishReason: 'aborted' }
          : upstreamFinish(finish, calls.count() > 0);
      const untrainable =
        untrainableRequest(request) ?? (isMixed ? 'mixed-versions' : untrainableFinish(ended));
      return {
        version: answering.version,
        ...ended,
        ...defined({ stopSequence }),
        ...tokenRecordOf(collected, sampling, answering.logProbs, answering.vocabularySize),
        ...defined({ untrainable }),
        sampling,
        usage: { ...usage, promptTokens, completionTokens },
      };
    },
  };
}

function usageOf(usage: NonNullable<UpstreamChunk['usage']>, hidesCached = false): Generated['usage'] {
  const { prompt_tokens, completion_tokens, prompt_tokens_details: details } = usage;
  const cached = details?.cached_tokens;
  return {
    promptTokens: prompt_tokens,
    completionTokens: completion_tokens,
    ...defined({ cachedPromptTokens: cached == null || hidesCached ? undefined : cached }),
  };
}

/** Upstream counts the tokens of all choices together; tokens that were not received are divided evenly. */
function tokensOfChoice(all: number, received: number, choices: number, index: number): number {
  if (all === 0 || (choices > 1 && received > 0)) return received;
  return Math.floor(all / choices) + (index < all % choices ? 1 : 0);
}

type ToolCallDelta = NonNullable<
  NonNullable<UpstreamChunk['choices'][number]['delta']>['tool_calls']
>[number];

type CallCollector = {
  /** The parts to show now. */
  readonly add: (deltas: readonly ToolCallDelta[]) => readonly CallPart[];
  readonly whole: () => readonly ToolCall[];
  readonly count: () => number;
  /** A second call began, but only one is allowed. */
  readonly isCut: () => boolean;
};

function createCallCollector(isSingle: boolean): CallCollector {
  const calls = new Map<number, { id: string; name: string; text: string; isNamed: boolean }>();
  let isCut = false;
  /** The id identifies a call from here on: a missing or duplicate id is replaced. */
  const idOf = (upstreamId: string | null | undefined): string =>
    upstreamId && ![...calls.values()].some(({ id }) => id === upstreamId)
      ? upstreamId
      : `call_${randomBytes(9).toString('hex')}`;
  /** The number of a call that has none: a part continues the call with its id, or the latest if it has no id. */
  const unnumbered = (id: string | null | undefined): number => {
    const known = [...calls].findLast(([, call]) => !id || call.id === id)?.[0];
    return known ?? calls.size;
  };
  return {
    add: (deltas) => {
      const parts: CallPart[] = [];
      for (const delta of deltas) {
        const index = delta.index ?? unnumbered(delta.id);
        if (isSingle && calls.size > 0 && !calls.has(index)) {
          isCut = true;
          continue;
        }
        const before = calls.get(index) ?? { id: '', name: '', text: '', isNamed: false };
        const piece = delta.function?.arguments ?? '';
        const call = {
          id: before.id || idOf(delta.id),
          name: before.name + (delta.function?.name ?? ''),
          text: before.text + piece,
          isNamed: before.isNamed || piece !== '', // the name is complete when the arguments begin
        };
        calls.set(index, call);
        if (piece !== '')
          parts.push({
            id: call.id,
            ...defined({ name: before.isNamed ? undefined : call.name }),
            arguments: piece,
          });
      }
      return parts;
    },
    whole: () =>
      [...calls.values()].map(({ id, name, text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    count: () => calls.size,
    isCut: () => isCut,
  };
}

type Entry = NonNullable<NonNullable<UpstreamChunk['choices'][number]['logprobs']>['content']>[number];

const shownToken = (entry: Entry): ShownToken => ({
  token: entry.token,
  logProb: entry.logprob ?? IMPOSSIBLE,
  alternatives: (entry.top_logprobs ?? []).map(({ token, logprob }) => ({
    token,
    logProb: logprob ?? IMPOSSIBLE,
  })),
});
