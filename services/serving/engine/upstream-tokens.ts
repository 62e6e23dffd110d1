import type { TokenRecord } from '../../../shared/events/token-record.ts';
import { effectiveTemperature, isGreedy } from '../../../shared/policy/sampling.ts';
import type { Generated, GenerationRequest } from './engine.ts';

/**
 * What the upstream server's log-probs are of: the raw logits; the logits at the sampling temperature, before
 * filters (scaled); or what is left after temperature and filters (processed).
 */
export type UpstreamLogProbs = 'none' | 'raw' | 'scaled' | 'processed';

/** What an engine said of the tokens of one answer. */
export type CollectedTokens = {
  readonly promptIds: readonly number[] | undefined;
  readonly responseIds: readonly number[];
  readonly logProbs: readonly number[];
  /** Its own count of them, where it told. */
  readonly counted?: { readonly prompt: number; readonly response: number };
};

type Recorded = { readonly tokens: TokenRecord | null; readonly untrainable?: string };

/** Rounding may lift a certain token's log-prob above 0 by so much. */
const ROUNDING = 1e-3;
/** What vLLM and OpenAI write for a token that could not be sampled. */
export const IMPOSSIBLE = -9_999;

const isLogProb = (value: number): boolean =>
  Number.isFinite(value) && value <= ROUNDING && value > IMPOSSIBLE;

/**
 * Nothing missing is filled in and nothing doubtful believed: then there is no record, and the reason.
 * `vocabularySize`: of the model that trains, where it is known.
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
    ...(minP === undefined ? {} : { minP }),
  });
  return {
    tokens: {
      promptIds,
      responseIds,
      logProbs,
      effectiveTemperature: effectiveTemperature(temperature),
      greedy: isGreedy(temperature),
      filters: { topP, topK, ...(minP === undefined ? {} : { minP }) },
    },
    ...(fits ? {} : { untrainable: 'logprob-temperature' }),
  };
}

type Drawn = Pick<Generated['sampling'], 'temperature' | 'topP' | 'topK' | 'minP'>;

/** Whether such log-probs are those of the policy at the effective temperature, before filters. */
export function fitsLogProbs(logProbs: UpstreamLogProbs, { temperature, topP, topK, minP }: Drawn): boolean {
  const wanted = effectiveTemperature(temperature);
  switch (logProbs) {
    case 'raw':
      return wanted === 1;
    case 'scaled': // an engine scales by 1 where it takes the likeliest token
      return wanted === temperature || temperature === 0;
    case 'processed':
      return wanted === temperature && topP === 1 && topK === 0 && minP === undefined;
    case 'none':
      return false;
  }
}

const isCount = (counted: NonNullable<CollectedTokens['counted']>, prompt: number, response: number) =>
  counted.prompt === prompt && counted.response === response;

/** What the request itself keeps from training: the distribution that was sampled from is another one. */
export function untrainableRequest({ sampling, forcedCall, format }: GenerationRequest): string | undefined {
  const { frequencyPenalty, presencePenalty, repetitionPenalty, logitBias } = sampling;
  if (frequencyPenalty !== 0 || presencePenalty !== 0 || repetitionPenalty !== 1 || logitBias.length > 0)
    return 'penalties';
  return forcedCall === undefined && format === undefined ? undefined : 'constrained';
}

/**
 * The settings as used. The upstream server fills in what the client left out; where it does not say, OpenAI's
 * defaults stand. What seeds it gives to the choices after the first one is not told.
 */
export function usedSampling({ sampling }: GenerationRequest, choice: number): Generated['sampling'] {
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
