import { defined } from '../../../../shared/lang/defined.ts';
import type { Tokenizer } from '../../../../shared/policy/text/tokenizer.ts';
import { type AnswerText, chunkOf, type TextPiece } from '../../decoding/answer-text.ts';
import type { AnswerChunk, Generated, GenerationRequest, ShownToken } from '../../generation.ts';
import type { Prompt } from '../prompt.ts';
import { type UpstreamFinish, untrainableFinish, upstreamFinish } from './finish.ts';
import type { SglangChunk } from './sglang-chunk.ts';
import {
  IMPOSSIBLE,
  tokenRecordOf,
  type UpstreamLogProbs,
  untrainableRequest,
  usedSampling,
} from './tokens.ts';

type SglangAnswer = {
  /** The part of an event that can be shown, if any. */
  readonly add: (event: SglangChunk) => AnswerChunk | undefined;
  /** The answer has ended, upstream or here. */
  readonly isOver: () => boolean;
  /** It was ended here, by a stop string or its only call. */
  readonly isCut: () => boolean;
  readonly result: (aborted: boolean) => Generated;
};

type Options = {
  /** With the settings that were sent. */
  readonly request: GenerationRequest;
  readonly prompt: Prompt;
  readonly version: number;
  readonly index: number;
  readonly logProbs: UpstreamLogProbs;
  /** of the trained model; undefined: unknown */
  readonly vocabularySize?: number | undefined;
  readonly tokenizer: Pick<Tokenizer, 'decode'>;
  readonly text: AnswerText;
};

type MetaInfo = NonNullable<SglangChunk['meta_info']>;
type ShownPair = readonly [logProb: number | null, id: number, ...rest: unknown[]];

/**
 * The new items of a list that begins at the start of the answer, or at the end of the previous event. With several
 * answers at once, SGLang counts first and writes the list later, so that the list may exceed `all`.
 */
const newOf = <Item>(list: readonly Item[], seen: number, all: number): readonly Item[] =>
  list.length + seen === all || list.length < seen ? list : list.slice(seen);

/** Collects one choice of SGLang's /generate: receives token ids and turns them into text. */
export function collectSglang(options: Options): SglangAnswer {
  const { request, text } = options;
  const received = createReceivedTokens(options.tokenizer);
  let finish: UpstreamFinish | undefined;
  let isCut = false;
  let stopSequence: string | undefined;

  return {
    add: (event) => {
      const { meta_info: info } = event;
      if (finish !== undefined || info === undefined) return undefined;
      const ended = info.finish_reason ?? undefined;
      const ids = received.add(event, info);
      const pieces: TextPiece[] = [];
      const tokens: ShownToken[] = [];
      for (const [place, id] of ids.entries()) {
        received.responseIds.push(id);
        if (place === ids.length - 1 && ended?.matched === id) break; // the end token is not text
        const piece = text.push(id);
        pieces.push(piece);
        if (request.topLogProbs !== undefined) tokens.push(received.latest());
        stopSequence = piece.stop;
        if (!piece.ends && stopSequence === undefined) continue;
        finish = { finishReason: 'stop' };
        isCut = true;
        break;
      }
      if (typeof ended?.matched === 'string') stopSequence ??= ended.matched;
      finish ??= ended && upstreamFinish(ended.type, false);
      if (finish !== undefined) pieces.push(text.end());
      return chunkOf(pieces, tokens);
    },
    isOver: () => finish !== undefined,
    isCut: () => isCut,
    result: (aborted) => {
      const ended: UpstreamFinish = aborted || finish === undefined ? { finishReason: 'aborted' } : finish;
      return generatedOf(options, received, { ended, isCounted: !aborted && !isCut, stopSequence });
    },
  };
}

/** The tokens of one choice. */
type ReceivedTokens = {
  /** Reads the lists of an event. @returns the new token ids, which the caller adds to `responseIds` */
  readonly add: (event: SglangChunk, info: MetaInfo) => readonly number[];
  /** The tokens of the answer. */
  readonly responseIds: number[];
  /** Logprob and id of each token. */
  readonly pairs: readonly ShownPair[];
  /** The latest token of the answer. */
  readonly latest: () => ShownToken;
  /** Of the latest event. */
  readonly info: () => MetaInfo | undefined;
  /** The weights changed during the answer. */
  readonly isMixed: () => boolean;
};

function createReceivedTokens(tokenizer: Options['tokenizer']): ReceivedTokens {
  const responseIds: number[] = [];
  const pairs: ShownPair[] = [];
  const tops: (readonly ShownPair[])[] = [];
  let info: MetaInfo | undefined;
  let isMixed = false;
  return {
    add: (event, current) => {
      const { completion_tokens: all, output_token_logprobs: logProbs, output_top_logprobs: top } = current;
      const newPairs = newOf(logProbs ?? [], pairs.length, all);
      for (const pair of newPairs) pairs.push(pair);
      for (const others of newOf(top ?? [], tops.length, all)) tops.push(others ?? []);
      isMixed ||= info !== undefined && info.weight_version !== current.weight_version;
      info = current;
      return event.output_ids == null
        ? newPairs.map(([, id]) => id)
        : newOf(event.output_ids, responseIds.length, all);
    },
    responseIds,
    pairs,
    latest: () => {
      const place = responseIds.length - 1;
      return {
        token: tokenizer.decode([responseIds[place]!]),
        logProb: pairs[place]?.[0] ?? IMPOSSIBLE,
        alternatives: (tops[place] ?? []).map(([logProb, other]) => ({
          token: tokenizer.decode([other]),
          logProb: logProb ?? IMPOSSIBLE,
        })),
      };
    },
    info: () => info,
    isMixed: () => isMixed,
  };
}

type Ending = {
  readonly ended: UpstreamFinish;
  /** Upstream's counts are those of the answer: it was neither aborted nor cut. */
  readonly isCounted: boolean;
  readonly stopSequence: string | undefined;
};

function generatedOf(options: Options, received: ReceivedTokens, ending: Ending): Generated {
  const { request, prompt, index, text } = options;
  const { ended, stopSequence } = ending;
  const { responseIds } = received;
  const sampling = {
    ...usedSampling(request, index),
    maxTokens: prompt.maxTokens,
    ...defined({ askedMaxTokens: prompt.askedMaxTokens }),
  };
  const isCall = ended.finishReason === 'stop' && text.calledTools();
  const untrainable =
    untrainableRequest(request) ?? (received.isMixed() ? 'mixed-versions' : untrainableFinish(ended));
  const cached = received.info()?.cached_tokens;
  return {
    version: options.version,
    ...ended,
    ...defined({ finishReason: isCall ? 'tool_calls' : undefined, stopSequence }),
    ...recordOf(options, received, sampling, ending.isCounted),
    ...defined({ untrainable }),
    sampling,
    usage: {
      promptTokens: prompt.promptIds.length,
      completionTokens: responseIds.length,
      ...defined({ cachedPromptTokens: cached == null ? undefined : cached }),
    },
    ...defined({ windowCut: prompt.windowCut, window: prompt.window }),
  };
}

function recordOf(
  { prompt, logProbs, vocabularySize }: Options,
  { responseIds, pairs, info }: ReceivedTokens,
  sampling: Generated['sampling'],
  isCounted: boolean,
): Pick<Generated, 'tokens' | 'untrainable'> {
  const answerPairs = pairs.slice(0, responseIds.length);
  const isOther = answerPairs.some(([, id], place) => id !== responseIds[place]);
  if (isOther) return { tokens: null, untrainable: 'token-mismatch' };
  const latest = info();
  const collected = {
    promptIds: prompt.promptIds,
    responseIds,
    logProbs: answerPairs.map(([logProb]) => logProb ?? Number.NaN),
    ...defined({
      counted:
        latest === undefined || !isCounted
          ? undefined
          : { prompt: latest.prompt_tokens, response: latest.completion_tokens },
    }),
  };
  return tokenRecordOf(collected, sampling, logProbs, vocabularySize);
}
