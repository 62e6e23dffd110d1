import type { TokenRecord } from '../../../../shared/events/token-record.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { effectiveTemperature, isGreedy } from '../../../../shared/policy/decode/sampling.ts';
import type { Generated, GenerationRequest } from '../../generation.ts';

/**
 * The basis of the upstream server's log-probs: the raw logits; the logits at the sampling temperature, before
 * filters (scaled); or the logits after temperature and filters (processed).
 */
export type UpstreamLogProbs = 'none' | 'raw' | 'scaled' | 'processed';

/** What an engine reported about the tokens of one answer. */
type CollectedTokens = {
  readonly promptIds: readonly number[] | undefined;
  readonly responseIds: readonly number[];
  readonly logProbs: readonly number[];
  /** The engine's own count, if it reported one. */
  readonly counted?: { readonly prompt: number; readonly response: number };
};

type Recorded = { readonly tokens: TokenRecord | null; readonly untrainable?: string };

/** Rounding may lift the log-prob of a certain token above 0 by this much. */
const ROUNDING = 1e-3;
/** The log-prob that vLLM and OpenAI report for a token that cannot be sampled. */
export const IMPOSSIBLE = -9_999;

const isLogProb = (value: number): boolean =>
  Number.isFinite(value) && value <= ROUNDING && value > IMPOSSIBLE;

/**
 * The token record, or the reason why there is none. Missing or doubtful values are never filled in.
 * @param vocabularySize of the trained model, if known
 */
export function tokenRecordOf(
  collected: CollectedTokens,
  { temperature, topP, topK, minP }: Generated['sampling'],
  logProbsAre: UpstreamLogProbs,
  vocabularySize = Number.POSITIVE_INFINITY,
): Recorded {
  const { promptIds, responseIds, logProbs } = collected;
  if (promptIds === undefined || promptIds.length === 0 || responseIds.length === 0)
    return { tokens: null, untrainable: 'no-token-ids' };
  if ([promptIds, responseIds].some((ids) => ids.some((id) => id >= vocabularySize)))
    return { tokens: null, untrainable: 'unknown-token-ids' };
  if (logProbs.length !== responseIds.length) return { tokens: null, untrainable: 'no-log-probs' };
  if (!logProbs.every(isLogProb)) return { tokens: null, untrainable: 'impossible-log-probs' };
  const { counted } = collected;
  if (counted !== undefined && !isCount(counted, promptIds.length, responseIds.length))
    return { tokens: null, untrainable: 'token-count-mismatch' };
  const fits = fitsLogProbs(logProbsAre, {
    temperature,
    topP,
    topK,
    ...defined({ minP }),
  });
  return {
    tokens: {
      promptIds,
      responseIds,
      logProbs,
      effectiveTemperature: effectiveTemperature(temperature),
      greedy: isGreedy(temperature),
      filters: { topP, topK, ...defined({ minP }) },
    },
    ...defined({ untrainable: fits ? undefined : 'logprob-temperature' }),
  };
}

type SamplingUsed = Pick<Generated['sampling'], 'temperature' | 'topP' | 'topK' | 'minP'>;

/** Whether these log-probs are those of the policy at the effective temperature, before filters. */
export function fitsLogProbs(
  logProbs: UpstreamLogProbs,
  { temperature, topP, topK, minP }: SamplingUsed,
): boolean {
  const expected = effectiveTemperature(temperature);
  switch (logProbs) {
    case 'raw':
      return expected === 1;
    case 'scaled': // an engine that samples greedily scales by 1
      return expected === temperature || temperature === 0;
    case 'processed':
      return expected === temperature && topP === 1 && topK === 0 && minP === undefined;
    case 'none':
      return false;
  }
}

const isCount = (counted: NonNullable<CollectedTokens['counted']>, prompt: number, response: number) =>
  counted.prompt === prompt && counted.response === response;

/** Why answers to this request do not train: they are not sampled from the policy's own distribution. */
export function untrainableRequest({ sampling, forcedCall, format }: GenerationRequest): string | undefined {
  const { frequencyPenalty, presencePenalty, repetitionPenalty, logitBias } = sampling;
  if (frequencyPenalty !== 0 || presencePenalty !== 0 || repetitionPenalty !== 1 || logitBias.length > 0)
    return 'penalties';
  return forcedCall === undefined && format === undefined ? undefined : 'constrained';
}

/**
 * The settings as used. For settings that the client did not send, OpenAI's defaults are recorded. The server does
 * not report the seeds of choices after the first.
 */
export function usedSampling({ sampling }: GenerationRequest, choice: number): Generated['sampling'] {
  return {
    temperature: sampling.temperature ?? 1,
    topP: sampling.topP ?? 1,
    topK: sampling.topK ?? 0,
    maxTokens: sampling.maxTokens ?? 0,
    ...defined({
      minP: sampling.minP === undefined || sampling.minP === 0 ? undefined : sampling.minP,
      seed: sampling.seed === undefined || choice > 0 ? undefined : sampling.seed,
      stop: sampling.stop.length === 0 ? undefined : sampling.stop,
      stopTokenIds: sampling.stopTokenIds,
    }),
  };
}
