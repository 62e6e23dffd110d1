import { createRandom, type Random } from '../../../shared/policy/random.ts';
import {
  changesLogits,
  effectiveTemperature,
  isGreedy,
  type SamplingSettings,
  topLogProbs,
} from '../../../shared/policy/sampling.ts';
import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import { createCallGuard, forcedCall } from '../chat/forced-call.ts';
import type { ToolCallForm } from '../chat/tool-call-form.ts';
import { callMatcher } from '../format/call-matcher.ts';
import { createFormatMatchers } from '../format/format-matcher.ts';
import { keepLatest } from '../format/kept.ts';
import { callTokenGuard } from './call-token-guard.ts';
import type { AnswerChunk, AskedSampling, Generated, ShownToken } from './engine.ts';
import { formatTokenGuard, type TokenBytes } from './format-token-guard.ts';
import { createGuardedSampler } from './guarded-sampler.ts';
import type { SequenceRequest } from './protocol.ts';
import { answerTextFor, possibleCalls } from './sequence-text.ts';
import type { TokenGuard } from './token-guard.ts';

/** What the model's makers advise, for what a client leaves out. */
export type SamplingDefaults = { readonly temperature: number; readonly topP: number; readonly topK: number };

export type SequenceModel = {
  readonly tokenizer: Pick<Tokenizer, 'decode' | 'streamDecoder'> & TokenBytes;
  readonly endTokenIds: ReadonlySet<number>;
  readonly defaults: SamplingDefaults;
  /** `tagged` unless told. */
  readonly toolCallForm?: ToolCallForm;
};

/** One answer while it is sampled. Knows no batch: logits go in, a token comes out. */
export type Sequence = {
  /**
   * Samples the next token. `next` is the id to feed back, undefined when the answer has ended; `chunk`
   * what can be shown now, undefined when nothing can.
   */
  readonly take: (logits: Float32Array) => {
    readonly next: number | undefined;
    readonly chunk: AnswerChunk | undefined;
  };
  /** The answer as it stands; `aborted` unless it has ended. */
  readonly result: (version: number) => Generated;
};

/**
 * Begins the answer to a prompt. `seed` is used where the client gave none; `cachedTokens` of the prompt were
 * known.
 */
export function beginSequence(
  model: SequenceModel,
  request: SequenceRequest,
  seed: number | string,
  cachedTokens = 0,
): Sequence {
  const { sampling: asked, topLogProbs: alternatives, prompt } = request;
  const settings = settingsOf(asked, model.defaults);
  const { temperature } = settings;
  const random: Random = createRandom(asked.seed ?? seed);
  const isFree = request.forcedCall === undefined && request.format === undefined;
  // what has to be whole is not cut
  const stopTokenIds = isFree ? (asked.stopTokenIds ?? []) : [];
  const endTokenIds = new Set([...model.endTokenIds, ...stopTokenIds]);
  const text = answerTextFor(model, request);
  const sampler = createGuardedSampler(guardOf(model, request));
  const responseIds: number[] = [];
  const logProbs: number[] = [];
  let finish: 'stop' | 'length' | undefined;
  let stopSequence: string | undefined;
  const shown = (id: number, logProb: number, logits: Float32Array): ShownToken => ({
    token: model.tokenizer.decode([id]),
    logProb,
    alternatives: topLogProbs(logits, effectiveTemperature(temperature), alternatives ?? 0).map((other) => ({
      token: model.tokenizer.decode([other.id]),
      logProb: other.logProb,
    })),
  });
  return {
    take: (logits) => {
      const { id, logProb } = sampler.sample(logits, settings, random, {
        promptIds: prompt.promptIds,
        responseIds,
      });
      if (!Number.isFinite(logProb)) throw new Error('the policy gave numbers that are not finite');
      responseIds.push(id);
      logProbs.push(logProb);
      const ended = endTokenIds.has(id);
      const piece = ended ? nothing : text.push(id);
      stopSequence = piece.stop;
      if (ended || piece.ends || stopSequence !== undefined || sampler.isOver()) finish = 'stop';
      else if (responseIds.length >= prompt.maxTokens) finish = 'length';
      const rest = finish === undefined ? nothing : text.end();
      const toolCalls = [...piece.toolCalls, ...rest.toolCalls];
      const callParts = [...piece.callParts, ...rest.callParts];
      const tokens = alternatives === undefined || ended ? [] : [shown(id, logProb, logits)];
      const content = piece.text + rest.text;
      const reasoning = piece.reasoning + rest.reasoning;
      const called = toolCalls.length + callParts.length > 0;
      const visible = content !== '' || reasoning !== '' || called || tokens.length > 0;
      return {
        next: finish === undefined ? id : undefined,
        chunk: visible
          ? {
              text: content,
              tokens,
              ...(reasoning === '' ? {} : { reasoning }),
              ...(toolCalls.length === 0 ? {} : { toolCalls }),
              ...(callParts.length === 0 ? {} : { callParts }),
            }
          : undefined,
      };
    },
    result: (version) => ({
      version,
      finishReason:
        finish === undefined ? 'aborted' : finish === 'stop' && text.calledTools() ? 'tool_calls' : finish,
      ...(stopSequence === undefined ? {} : { stopSequence }),
      tokens: {
        promptIds: prompt.promptIds,
        responseIds,
        logProbs,
        effectiveTemperature: effectiveTemperature(temperature),
        greedy: isGreedy(temperature),
        filters: { topP: settings.topP, topK: settings.topK, ...minPOf(asked) },
      },
      ...untrainableOf(changesLogits(settings), sampler.hasForced()),
      sampling: {
        temperature,
        topP: settings.topP,
        topK: settings.topK,
        ...minPOf(asked),
        maxTokens: prompt.maxTokens,
        ...(prompt.askedMaxTokens === undefined ? {} : { askedMaxTokens: prompt.askedMaxTokens }),
        ...(asked.seed === undefined ? {} : { seed: asked.seed }),
        ...(asked.stop.length === 0 ? {} : { stop: asked.stop }),
        ...(asked.stopTokenIds === undefined ? {} : { stopTokenIds: asked.stopTokenIds }),
      },
      usage: {
        promptTokens: prompt.promptIds.length,
        completionTokens: responseIds.length,
        cachedPromptTokens: cachedTokens,
      },
      ...(prompt.windowCut === undefined ? {} : { windowCut: prompt.windowCut }),
      ...(prompt.window === undefined ? {} : { window: prompt.window }),
    }),
  };
}

const formatMatchers = createFormatMatchers();
const callMatchers = keepLatest(callMatcher);

/** What keeps tokens out of an answer that has to be a call, or of a format. */
function guardOf(model: SequenceModel, request: SequenceRequest): TokenGuard | undefined {
  const { forcedCall: forced, format, heldParameters: held } = request;
  if (forced !== undefined) {
    const call = forcedCall(model.toolCallForm ?? 'tagged', forced);
    if (held === undefined) return callTokenGuard(model, createCallGuard(call));
    const tools = [...call.heads].map(([name, written]) => ({ written, parameters: held[name] }));
    return formatTokenGuard(model, callMatchers({ tools }));
  }
  if (format === undefined) return undefined;
  return formatTokenGuard(model, formatMatchers(format, possibleCalls(model, request)));
}

const minPOf = ({ minP }: AskedSampling) => (minP === undefined || minP === 0 ? {} : { minP });

type Settings = SamplingSettings & { readonly topP: number; readonly topK: number };

const settingsOf = (asked: AskedSampling, defaults: SamplingDefaults): Settings => ({
  temperature: asked.temperature ?? defaults.temperature,
  topP: asked.topP ?? defaults.topP,
  topK: asked.topK ?? defaults.topK,
  ...minPOf(asked),
  frequencyPenalty: asked.frequencyPenalty,
  presencePenalty: asked.presencePenalty,
  repetitionPenalty: asked.repetitionPenalty,
  logitBias: new Map(asked.logitBias),
});

/** Of an answer that other tokens were kept out of, the recorded log-probs say too little. */
const untrainableOf = (isChanged: boolean, isForced: boolean) =>
  isChanged ? { untrainable: 'penalties' } : isForced ? { untrainable: 'constrained' } : {};

const nothing = {
  text: '',
  reasoning: '',
  toolCalls: [],
  callParts: [],
  stop: undefined,
  ends: false,
} as const;
