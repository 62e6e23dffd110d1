import { randomBytes } from 'node:crypto';
import type { ToolCall } from '../../../shared/events/chat-message.ts';
import type { AnswerChunk, CallPart, Generated, GenerationRequest, ShownToken } from './engine.ts';
import type { UpstreamChunk } from './upstream-chunk.ts';
import { type UpstreamFinish, untrainableFinish, upstreamFinish } from './upstream-finish.ts';
import {
  IMPOSSIBLE,
  tokenRecordOf,
  type UpstreamLogProbs,
  untrainableRequest,
  usedSampling,
} from './upstream-tokens.ts';

export type UpstreamSpeaker = {
  readonly version: number;
  readonly logProbs: UpstreamLogProbs;
  /** of the model that trains; undefined: not known */
  readonly vocabularySize?: number | undefined;
  /** What every part of the answer has to be from; undefined: its names say nothing. */
  readonly model: string | undefined;
  /** What it says of its cache tells what others said, since all keys share that. */
  readonly hidesCached?: boolean;
};

export type UpstreamAnswer = {
  /** What of a frame can be shown; undefined when nothing can. */
  readonly add: (frame: UpstreamChunk) => AnswerChunk | undefined;
  /** The tool calls, whole. */
  readonly rest: () => AnswerChunk | undefined;
  /** Undefined while it was not told. */
  readonly promptTokens: () => number | undefined;
  /** It has ended, there or here. */
  readonly hasFinished: () => boolean;
  /** Here: a second call began, where one was asked for. */
  readonly isCut: () => boolean;
  readonly result: (aborted: boolean) => Generated;
};

/** Puts the choices of a streamed upstream answer together. All are given every frame. */
export const collectUpstream = (
  request: GenerationRequest,
  speaker: UpstreamSpeaker,
): readonly UpstreamAnswer[] =>
  Array.from({ length: request.choices }, (_, index) => collectChoice(request, speaker, index));

/** One choice, with the token record where there is one. */
function collectChoice(request: GenerationRequest, speaker: UpstreamSpeaker, index: number): UpstreamAnswer {
  const { choices } = request;
  const calls = new Map<number, { id: string; name: string; text: string; isTold: boolean }>();
  let promptIds: readonly number[] | undefined;
  const responseIds: number[] = [];
  const logProbs: number[] = [];
  let usage: Generated['usage'] | undefined;
  let isMixed = false;
  let isCut = false;
  let finish: string | undefined;
  let stopSequence: string | undefined;
  const wholeCalls = (): readonly ToolCall[] =>
    [...calls.values()].map(({ id, name, text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    }));
  /** By its id a call is known all the way: one that has none, or another's, gets one of ours. */
  const idOf = (theirs: string | null | undefined): string =>
    theirs && ![...calls.values()].some(({ id }) => id === theirs)
      ? theirs
      : `call_${randomBytes(9).toString('hex')}`;
  /** Where the engine does not number its calls: one goes on by its id, or without any. */
  const unnumbered = (id: string | null | undefined): number => {
    const known = [...calls].findLast(([, call]) => !id || call.id === id)?.[0];
    return known ?? calls.size;
  };
  /** Upstream counts the tokens of all choices together: where they were not seen, each has as many. */
  const tokensOf = (seen: number): number => {
    const all = usage?.completionTokens ?? 0;
    if (all === 0 || (choices > 1 && seen > 0)) return seen;
    return Math.floor(all / choices) + (index < all % choices ? 1 : 0);
  };
  return {
    add: (frame) => {
      promptIds ??= frame.prompt_token_ids ?? undefined;
      isMixed ||= speaker.model !== undefined && frame.model != null && frame.model !== speaker.model;
      if (frame.usage != null) {
        const { prompt_tokens, completion_tokens, prompt_tokens_details: details } = frame.usage;
        const cached = details?.cached_tokens;
        usage = {
          promptTokens: prompt_tokens,
          completionTokens: completion_tokens,
          ...(cached == null || speaker.hidesCached ? {} : { cachedPromptTokens: cached }),
        };
      }
      const choice = frame.choices.find((one) => (one.index ?? 0) === index);
      if (choice === undefined || isCut) return undefined;
      finish = choice.finish_reason || finish; // some write '' while it goes on
      if (typeof choice.stop_reason === 'string') stopSequence = choice.stop_reason;
      for (const id of choice.token_ids ?? []) responseIds.push(id);
      const content = choice.logprobs?.content ?? [];
      for (const { logprob } of content) logProbs.push(logprob ?? Number.NaN);
      const callParts: CallPart[] = [];
      for (const part of choice.delta?.tool_calls ?? []) {
        const index = part.index ?? unnumbered(part.id);
        if (request.singleCall === true && calls.size > 0 && !calls.has(index)) {
          isCut = true;
          continue;
        }
        const before = calls.get(index) ?? { id: '', name: '', text: '', isTold: false };
        const given = part.function?.arguments ?? '';
        const call = {
          id: before.id || idOf(part.id),
          name: before.name + (part.function?.name ?? ''),
          text: before.text + given,
          isTold: before.isTold || given !== '', // the name is whole where the arguments begin
        };
        calls.set(index, call);
        if (given !== '')
          callParts.push({ id: call.id, ...(before.isTold ? {} : { name: call.name }), arguments: given });
      }
      const text = choice.delta?.content ?? '';
      const reasoning = choice.delta?.reasoning_content || choice.delta?.reasoning || '';
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
    promptTokens: () => promptIds?.length ?? usage?.promptTokens,
    hasFinished: () => finish !== undefined || isCut,
    isCut: () => isCut,
    result: (aborted) => {
      const sampling = usedSampling(request, index);
      const completionTokens = tokensOf(Math.max(responseIds.length, logProbs.length));
      const promptTokens = usage?.promptTokens ?? promptIds?.length ?? 0;
      const counted = usage && !aborted && !isCut && { prompt: promptTokens, response: completionTokens };
      const collected = { promptIds, responseIds, logProbs, ...(counted ? { counted } : {}) };
      const ended: UpstreamFinish = isCut
        ? { finishReason: 'tool_calls' }
        : aborted || finish === undefined
          ? { finishReason: 'aborted' }
          : upstreamFinish(finish, calls.size > 0);
      const untrainable =
        untrainableRequest(request) ?? (isMixed ? 'mixed-versions' : untrainableFinish(ended));
      return {
        version: speaker.version,
        ...ended,
        ...(stopSequence === undefined ? {} : { stopSequence }),
        ...tokenRecordOf(collected, sampling, speaker.logProbs, speaker.vocabularySize),
        ...(untrainable === undefined ? {} : { untrainable }),
        sampling,
        usage: { ...usage, promptTokens, completionTokens },
      };
    },
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
