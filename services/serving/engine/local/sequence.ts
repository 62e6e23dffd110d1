import { defined } from '../../../../shared/lang/defined.ts';
import {
  changesLogits,
  effectiveTemperature,
  isGreedy,
  type SamplingSettings,
  topLogProbs,
} from '../../../../shared/policy/decode/sampling.ts';
import { createRandom, type Random } from '../../../../shared/policy/model/random.ts';
import type { Tokenizer } from '../../../../shared/policy/text/tokenizer.ts';
import { chunkOf } from '../../decoding/answer-text.ts';
import { callMatcher } from '../../decoding/call-matcher.ts';
import { forcedCall } from '../../decoding/forced-call.ts';
import { createFormatMatchers } from '../../decoding/format-matcher.ts';
import { keepLatest } from '../../decoding/kept-matchers.ts';
import {
  createGuardedSampler,
  createTokenGuard,
  type TokenBytes,
  type TokenGuard,
} from '../../decoding/token-guard.ts';
import type { ToolCallForm } from '../../decoding/tool-call-form.ts';
import type { AnswerChunk, Generated, RequestedSampling, ShownToken } from '../../generation.ts';
import type { SequenceRequest } from '../sequence-text.ts';
import { answerTextFor, possibleCalls } from '../sequence-text.ts';

/** The settings that the model's authors recommend, used where a client sends none. */
export type SamplingDefaults = { readonly temperature: number; readonly topP: number; readonly topK: number };

type SequenceModel = {
  readonly tokenizer: Pick<Tokenizer, 'decode' | 'streamDecoder'> & TokenBytes;
  readonly endTokenIds: ReadonlySet<number>;
  readonly defaults: SamplingDefaults;
  /** Default: `tagged`. */
  readonly toolCallForm?: ToolCallForm;
};

/** One answer while it is sampled, independent of its batch: logits in, a token out. */
export type Sequence = {
  /**
   * Samples the next token. `next`: the id to decode next; undefined when the answer has ended. `chunk`: what
   * can be shown now, if anything.
   */
  readonly take: (logits: Float32Array) => {
    readonly next: number | undefined;
    readonly chunk: AnswerChunk | undefined;
  };
  /** The answer so far; `aborted` unless it has ended. */
  readonly result: (version: number) => Generated;
};

/**
 * Begins the answer to a prompt.
 * @param seed used if the client sent none
 * @param cachedTokens tokens of the prompt that were cached
 */
export function beginSequence(
  model: SequenceModel,
  request: SequenceRequest,
  seed: number | string,
  cachedTokens = 0,
): Sequence {
  const { sampling: requested, topLogProbs: alternatives, prompt } = request;
  const settings = settingsOf(requested, model.defaults);
  const { temperature } = settings;
  const random: Random = createRandom(requested.seed ?? seed);
  const isFree = request.forcedCall === undefined && request.format === undefined;
  // an answer that must be complete has no stops
  const stopTokenIds = isFree ? (requested.stopTokenIds ?? []) : [];
  const endTokenIds = new Set([...model.endTokenIds, ...stopTokenIds]);
  const text = answerTextFor(model, request);
  const sampler = createGuardedSampler(guardOf(model, request));
  const responseIds: number[] = [];
  const logProbs: number[] = [];
  const allowedTokens: { readonly at: number; readonly ids: readonly number[] }[] = [];
  let finish: 'stop' | 'length' | undefined;
  let stopSequence: string | undefined;
  const shown = (id: number, logProb: number, logits: Float32Array): ShownToken =>
    shownToken(
      model,
      { id, logProb },
      topLogProbs(logits, effectiveTemperature(temperature), alternatives ?? 0),
    );
  return {
    take: (logits) => {
      const { id, logProb, allowed, freeLogProb } = sampler.sample(logits, settings, random, {
        promptIds: prompt.promptIds,
        responseIds,
      });
      if (!Number.isFinite(logProb)) throw new Error('the policy returned numbers that are not finite');
      if (allowed !== undefined) allowedTokens.push({ at: responseIds.length, ids: allowed });
      responseIds.push(id);
      logProbs.push(logProb);
      const ended = endTokenIds.has(id);
      const piece = ended ? undefined : text.push(id);
      stopSequence = piece?.stop;
      if (ended || piece?.ends || stopSequence !== undefined || sampler.isOver()) finish = 'stop';
      else if (responseIds.length >= prompt.maxTokens) finish = 'length';
      const pieces = [...(piece === undefined ? [] : [piece]), ...(finish === undefined ? [] : [text.end()])];
      const tokens = alternatives === undefined || ended ? [] : [shown(id, freeLogProb, logits)];
      return { next: finish === undefined ? id : undefined, chunk: chunkOf(pieces, tokens) };
    },
    result: (version) => ({
      version,
      finishReason:
        finish === undefined ? 'aborted' : finish === 'stop' && text.calledTools() ? 'tool_calls' : finish,
      ...defined({ stopSequence }),
      tokens: {
        promptIds: prompt.promptIds,
        responseIds,
        logProbs,
        ...defined({ allowed: recordedAllowed(allowedTokens, sampler.hasForced()) }),
        effectiveTemperature: effectiveTemperature(temperature),
        greedy: isGreedy(temperature),
        filters: { topP: settings.topP, topK: settings.topK, ...minPOf(requested) },
      },
      ...untrainableOf(changesLogits(settings), sampler.hasForced()),
      sampling: {
        temperature,
        topP: settings.topP,
        topK: settings.topK,
        ...minPOf(requested),
        maxTokens: prompt.maxTokens,
        ...defined({
          askedMaxTokens: prompt.askedMaxTokens,
          seed: requested.seed,
          stop: requested.stop.length === 0 ? undefined : requested.stop,
          stopTokenIds: requested.stopTokenIds,
        }),
      },
      usage: {
        promptTokens: prompt.promptIds.length,
        completionTokens: responseIds.length,
        cachedPromptTokens: cachedTokens,
      },
      ...defined({ windowCut: prompt.windowCut, window: prompt.window }),
    }),
  };
}

type SampledLogProb = { readonly id: number; readonly logProb: number };

const shownToken = (
  { tokenizer }: SequenceModel,
  { id, logProb }: SampledLogProb,
  alternatives: readonly SampledLogProb[],
): ShownToken => ({
  token: tokenizer.decode([id]),
  logProb,
  alternatives: alternatives.map((other) => ({
    token: tokenizer.decode([other.id]),
    logProb: other.logProb,
  })),
});

const formatMatchers = createFormatMatchers();
const callMatchers = keepLatest(callMatcher);

/** The guard of an answer that must be a call or have a format. */
function guardOf(model: SequenceModel, request: SequenceRequest): TokenGuard | undefined {
  const { forcedCall: forced, format, argumentSchemas } = request;
  if (forced !== undefined) {
    const call = forcedCall(model.toolCallForm ?? 'tagged', forced);
    const tools = [...call.heads].map(([name, written]) => ({
      written,
      ...defined({ parameters: argumentSchemas?.[name] }),
    }));
    return createTokenGuard(model, callMatchers({ tools }));
  }
  if (format === undefined) return undefined;
  return createTokenGuard(model, formatMatchers(format, possibleCalls(model, request)));
}

const minPOf = ({ minP }: RequestedSampling) => defined({ minP: minP === 0 ? undefined : minP });

type Settings = SamplingSettings & { readonly topP: number; readonly topK: number };

const settingsOf = (requested: RequestedSampling, defaults: SamplingDefaults): Settings => ({
  temperature: requested.temperature ?? defaults.temperature,
  topP: requested.topP ?? defaults.topP,
  topK: requested.topK ?? defaults.topK,
  ...minPOf(requested),
  frequencyPenalty: requested.frequencyPenalty,
  presencePenalty: requested.presencePenalty,
  repetitionPenalty: requested.repetitionPenalty,
  logitBias: new Map(requested.logitBias),
});

/** Without any restricted choice, or if the answer cannot train anyway, nothing is recorded. */
const recordedAllowed = <Allowed>(allowed: readonly Allowed[], isForced: boolean) =>
  allowed.length === 0 || isForced ? undefined : allowed;

/** If a guard excluded tokens from a set that is too large to record, the recorded log-probs do not describe how the answer was sampled. */
const untrainableOf = (isChanged: boolean, isForced: boolean) =>
  isChanged ? { untrainable: 'penalties' } : isForced ? { untrainable: 'constrained' } : {};
