import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import type { AnswerText, TextPiece } from './answer-text.ts';
import type { AnswerChunk, Generated, GenerationRequest, ShownToken } from './engine.ts';
import type { Prompt } from './prompt.ts';
import type { SglangChunk } from './sglang-chunk.ts';
import { type UpstreamFinish, untrainableFinish, upstreamFinish } from './upstream-finish.ts';
import {
  IMPOSSIBLE,
  tokenRecordOf,
  type UpstreamLogProbs,
  untrainableRequest,
  usedSampling,
} from './upstream-tokens.ts';

export type SglangAnswer = {
  /** What of an event can be shown; undefined when nothing can. */
  readonly add: (event: SglangChunk) => AnswerChunk | undefined;
  /** It has ended, there or here. */
  readonly isOver: () => boolean;
  /** Here: a stop string was read, or its one call was. */
  readonly isCut: () => boolean;
  readonly result: (aborted: boolean) => Generated;
};

type Options = {
  /** Its settings as they were sent. */
  readonly request: GenerationRequest;
  readonly prompt: Prompt;
  readonly version: number;
  readonly index: number;
  readonly logProbs: UpstreamLogProbs;
  /** of the model that trains; undefined: not known */
  readonly vocabularySize?: number | undefined;
  readonly tokenizer: Pick<Tokenizer, 'decode'>;
  readonly text: AnswerText;
};

type MetaInfo = NonNullable<SglangChunk['meta_info']>;
type ShownPair = readonly [logProb: number | null, id: number, ...rest: unknown[]];

/**
 * What of a list is new: it begins at the answer's start, or where the event before ended. Of several answers
 * at once SGLang counts first and writes the list later: it may hold more by then than `all`.
 */
const newOf = <Item>(list: readonly Item[], seen: number, all: number): readonly Item[] =>
  list.length + seen === all || list.length < seen ? list : list.slice(seen);

/** One choice of an answer of SGLang's /generate: ids come in, and become text here. */
export function collectSglang({
  request,
  prompt,
  index,
  tokenizer,
  text,
  ...speaker
}: Options): SglangAnswer {
  const responseIds: number[] = [];
  const pairs: ShownPair[] = [];
  const tops: (readonly ShownPair[])[] = [];
  let info: MetaInfo | undefined;
  let isMixed = false;
  let finish: UpstreamFinish | undefined;
  let isCut = false;
  let stopSequence: string | undefined;

  const hear = (event: SglangChunk, now: MetaInfo): readonly number[] => {
    const { completion_tokens: all, output_token_logprobs: logProbs, output_top_logprobs: top } = now;
    const newPairs = newOf(logProbs ?? [], pairs.length, all);
    for (const pair of newPairs) pairs.push(pair);
    for (const others of newOf(top ?? [], tops.length, all)) tops.push(others ?? []);
    isMixed ||= info !== undefined && info.weight_version !== now.weight_version;
    info = now;
    return event.output_ids == null
      ? newPairs.map(([, id]) => id)
      : newOf(event.output_ids, responseIds.length, all);
  };
  const shown = (id: number, place: number): ShownToken => ({
    token: tokenizer.decode([id]),
    logProb: pairs[place]?.[0] ?? IMPOSSIBLE,
    alternatives: (tops[place] ?? []).map(([logProb, other]) => ({
      token: tokenizer.decode([other]),
      logProb: logProb ?? IMPOSSIBLE,
    })),
  });

  return {
    add: (event) => {
      const { meta_info: now } = event;
      if (finish !== undefined || now === undefined) return undefined;
      const ended = now.finish_reason ?? undefined;
      const ids = hear(event, now);
      const pieces: TextPiece[] = [];
      const tokens: ShownToken[] = [];
      for (const [place, id] of ids.entries()) {
        responseIds.push(id);
        if (place === ids.length - 1 && ended?.matched === id) break; // the end is no text
        const piece = text.push(id);
        pieces.push(piece);
        if (request.topLogProbs !== undefined) tokens.push(shown(id, responseIds.length - 1));
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
      const sampling = {
        ...usedSampling(request, index),
        maxTokens: prompt.maxTokens,
        ...(prompt.askedMaxTokens === undefined ? {} : { askedMaxTokens: prompt.askedMaxTokens }),
      };
      const { promptIds } = prompt;
      const heard = pairs.slice(0, responseIds.length);
      const collected = {
        promptIds,
        responseIds,
        logProbs: heard.map(([logProb]) => logProb ?? Number.NaN),
        ...(info === undefined || aborted || isCut
          ? {}
          : { counted: { prompt: info.prompt_tokens, response: info.completion_tokens } }),
      };
      const isOther = heard.some(([, id], place) => id !== responseIds[place]);
      const record = isOther
        ? { tokens: null, untrainable: 'token-mismatch' }
        : tokenRecordOf(collected, sampling, speaker.logProbs, speaker.vocabularySize);
      const ended: UpstreamFinish = aborted || finish === undefined ? { finishReason: 'aborted' } : finish;
      const isCall = ended.finishReason === 'stop' && text.calledTools();
      const untrainable =
        untrainableRequest(request) ?? (isMixed ? 'mixed-versions' : untrainableFinish(ended));
      const cached = info?.cached_tokens;
      return {
        version: speaker.version,
        ...ended,
        ...(isCall ? { finishReason: 'tool_calls' } : {}),
        ...(stopSequence === undefined ? {} : { stopSequence }),
        ...record,
        ...(untrainable === undefined ? {} : { untrainable }),
        sampling,
        usage: {
          promptTokens: promptIds.length,
          completionTokens: responseIds.length,
          ...(cached == null ? {} : { cachedPromptTokens: cached }),
        },
        ...(prompt.windowCut === undefined ? {} : { windowCut: prompt.windowCut }),
        ...(prompt.window === undefined ? {} : { window: prompt.window }),
      };
    },
  };
}

function chunkOf(pieces: readonly TextPiece[], tokens: readonly ShownToken[]): AnswerChunk | undefined {
  const text = pieces.map((piece) => piece.text).join('');
  const reasoning = pieces.map((piece) => piece.reasoning).join('');
  const toolCalls = pieces.flatMap((piece) => piece.toolCalls);
  const callParts = pieces.flatMap((piece) => piece.callParts);
  if (text === '' && reasoning === '' && toolCalls.length + callParts.length + tokens.length === 0)
    return undefined;
  return {
    text,
    tokens,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(callParts.length === 0 ? {} : { callParts }),
  };
}
