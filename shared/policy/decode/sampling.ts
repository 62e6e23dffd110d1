import type { Random } from '../model/random.ts';

/** How the next token is picked. Omitted filters, topK 0, topP 1 and minP 0 filter nothing. */
export type SamplingSettings = {
  readonly temperature: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  /** Divides the logit of a token already in prompt or answer (multiplies a negative one); 1: no effect. */
  readonly repetitionPenalty?: number;
  /** OpenAI's penalties, over the answer so far: logit -= frequency * count + presence * [count > 0]. */
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  /** Added to the logits, by token id. */
  readonly logitBias?: ReadonlyMap<number, number>;
};

/** Tokens that the penalties apply to. */
export type SamplingHistory = {
  readonly promptIds: readonly number[];
  readonly responseIds: readonly number[];
};
const noHistory: SamplingHistory = { promptIds: [], responseIds: [] };

export type SampledToken = {
  readonly id: number;
  /** ln p of the token among all tokens at the effective temperature: no filter, penalty or bias applied. */
  readonly logProb: number;
};

/** Below this temperature sampling is greedy. */
const greedyBelow = 0.1;

/**
 * The temperature of the recorded log-probs and of training: that of sampling, or 1 if sampling is greedy.
 */
export const effectiveTemperature = (temperature: number): number =>
  isGreedy(temperature) ? 1 : temperature;

export const isGreedy = (temperature: number): boolean => temperature < greedyBelow;

/**
 * Whether the sampled distribution differs from softmax(logits / T) by more than filters. Such answers cannot be
 * used for training.
 */
export function changesLogits(settings: SamplingSettings): boolean {
  const { repetitionPenalty = 1, frequencyPenalty = 0, presencePenalty = 0, logitBias } = settings;
  return (
    repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0 || (logitBias?.size ?? 0) > 0
  );
}

/**
 * Picks the next token. logits: [vocabulary], not changed. Takes one number from `random`, none when greedy
 * (then the likeliest token is taken, of equal ones the lowest id). Throws when the logits are not finite.
 */
export function sampleToken(
  logits: Float32Array,
  settings: SamplingSettings,
  random: Random,
  history: SamplingHistory = noHistory,
): SampledToken {
  const { temperature } = settings;
  const drawn = isGreedy(temperature) ? undefined : samplingDistribution(logits, settings, history);
  const id = drawn === undefined ? argmax(scoresOf(logits, settings, history)) : pick(drawn, random());
  // Reuses the normaliser of the sampled distribution: exp over a large vocabulary is most of the work.
  const total =
    drawn === undefined || changesLogits(settings)
      ? logSumExp(logits, effectiveTemperature(temperature))
      : drawn.logSumExp;
  const logProb = logits[id]! / effectiveTemperature(temperature) - total;
  if (!Number.isFinite(logProb))
    throw new Error(`the logits are not finite: token ${id} has log-probability ${logProb}`);
  return { id, logProb };
}

/** Candidates and their probabilities, which sum to 1; `ids` undefined means all ids in order. */
type Distribution = {
  readonly ids: readonly number[] | undefined;
  readonly probabilities: Float64Array;
};

/**
 * The sampled distribution at a temperature > 0. As in transformers' `generate`, in this order: logit bias,
 * repetition penalty, frequency and presence penalty, temperature, top-k (which keeps ties with the k-th), top-p
 * (the smallest set that reaches the mass), min-p; then renormalised.
 */
export function samplingDistribution(
  logits: Float32Array,
  settings: SamplingSettings,
  history: SamplingHistory = noHistory,
): Distribution & { readonly logSumExp: number } {
  const scores = scoresOf(logits, settings, history);
  const { probabilities, logSumExp } = softmax(scores, settings.temperature);
  return { ...filtered(probabilities, settings), logSumExp };
}

/** The logits, with bias and penalties. */
const scoresOf = (logits: Float32Array, settings: SamplingSettings, history: SamplingHistory): Scores =>
  changesLogits(settings) ? penalised(logits, settings, history) : logits;

function filtered(all: Float64Array, { topK = 0, topP = 1, minP = 0 }: SamplingSettings): Distribution {
  const filtersTopK = topK > 0 && topK < all.length;
  if (!filtersTopK && topP >= 1 && minP <= 0) return { ids: undefined, probabilities: all };

  let ids = filtersTopK ? aboveThreshold(all, smallestOfLargest(all, topK)) : undefined;
  if (topP < 1) ids = nucleus(all, ids, topP);
  ids ??= aboveThreshold(all, 0);
  if (minP > 0) {
    const most = ids.reduce((largest, id) => Math.max(largest, all[id]!), 0);
    ids = ids.filter((id) => all[id]! >= minP * most);
  }
  const mass = ids.reduce((sum, id) => sum + all[id]!, 0);
  return { ids, probabilities: Float64Array.from(ids, (id) => all[id]! / mass) };
}

function penalised(logits: Float32Array, settings: SamplingSettings, history: SamplingHistory): Float64Array {
  const scores = Float64Array.from(logits);
  for (const [id, bias] of settings.logitBias ?? []) if (id < scores.length) scores[id]! += bias;
  const { repetitionPenalty = 1, frequencyPenalty = 0, presencePenalty = 0 } = settings;
  if (repetitionPenalty !== 1) {
    for (const id of new Set([...history.promptIds, ...history.responseIds])) {
      const score = scores[id]!;
      scores[id] = score < 0 ? score * repetitionPenalty : score / repetitionPenalty;
    }
  }
  if (frequencyPenalty !== 0) for (const id of history.responseIds) scores[id]! -= frequencyPenalty;
  if (presencePenalty !== 0) for (const id of new Set(history.responseIds)) scores[id]! -= presencePenalty;
  return scores;
}

type Scores = Float32Array | Float64Array;

function softmax(scores: Scores, temperature: number) {
  const highest = scores[argmax(scores)]!;
  const probabilities = new Float64Array(scores.length);
  let sum = 0;
  for (let id = 0; id < scores.length; id++) {
    const mass = Math.exp((scores[id]! - highest) / temperature);
    probabilities[id] = mass;
    sum += mass;
  }
  for (let id = 0; id < scores.length; id++) probabilities[id]! /= sum;
  return { probabilities, logSumExp: highest / temperature + Math.log(sum) };
}

function aboveThreshold(values: Float64Array, threshold: number): number[] {
  const ids: number[] = [];
  for (let id = 0; id < values.length; id++) if (values[id]! >= threshold) ids.push(id);
  return ids;
}

/**
 * The k-th largest value. One pass with a sorted list of the k largest so far; long lists are sorted whole.
 */
function smallestOfLargest(values: Float64Array, k: number): number {
  if (k > 256) return Float64Array.from(values).sort()[values.length - k]!;
  const largest: number[] = []; // descending
  for (const value of values) {
    if (largest.length === k && value <= largest[k - 1]!) continue;
    let at = largest.length;
    while (at > 0 && largest[at - 1]! < value) at--;
    largest.splice(at, 0, value);
    if (largest.length > k) largest.pop();
  }
  return largest[k - 1]!;
}

/**
 * The fewest ids whose share of the candidates' mass reaches topP; at least one. Ties: the lower id first.
 */
function nucleus(all: Float64Array, candidates: readonly number[] | undefined, topP: number): number[] {
  const mass = candidates?.reduce((sum, id) => sum + all[id]!, 0) ?? 1;
  // Ids below this share are never needed, because all together have less than 1 - topP. Avoids sorting the tail.
  const negligible = (mass * (1 - topP)) / all.length;
  const worth = candidates?.filter((id) => all[id]! >= negligible) ?? aboveThreshold(all, negligible);
  const { sure, least, reached: before } = surelyIn(all, worth, topP * mass, negligible);
  const open = worth.filter((id) => all[id]! >= least && all[id]! < sure);
  const sorted = open.sort((a, b) => all[b]! - all[a]! || a - b);
  let reached = before;
  let count = 0;
  while (count < sorted.length && ((count === 0 && before === 0) || reached < topP * mass))
    reached += all[sorted[count++]!]!;
  const last = new Set(sorted.slice(0, count));
  return worth.filter((id) => all[id]! >= sure || last.has(id));
}

/**
 * Bisects, on a logarithmic scale, the range that contains the smallest probability of the nucleus, so that few ids
 * remain to sort. Ids from `sure` on are in the nucleus and do not reach the mass; ids below `least` are not in it.
 */
function surelyIn(all: Float64Array, ids: readonly number[], mass: number, least: number) {
  const values = new Float64Array(ids.length);
  for (let i = 0; i < values.length; i++) values[i] = all[ids[i]!]!;
  const massFrom = (threshold: number): number => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) if (values[i]! >= threshold) sum += values[i]!;
    return sum;
  };
  let range = { sure: 2, least, reached: 0 };
  if (values.length < 256 || least <= 0) return range;
  for (let halving = 0; halving < 8; halving++) {
    const middle = Math.sqrt(range.sure * range.least);
    const reached = massFrom(middle);
    if (reached > 0 && reached >= mass) range = { ...range, least: middle };
    else range = { ...range, sure: middle, reached };
  }
  return range;
}

/**
 * Inverse of the cumulative distribution at `uniform`; rounding errors at the end give the last possible token.
 */
function pick({ ids, probabilities }: Distribution, uniform: number): number {
  let left = uniform;
  let last = 0;
  for (let index = 0; index < probabilities.length; index++) {
    const probability = probabilities[index]!;
    if (probability === 0) continue;
    last = index;
    left -= probability;
    if (left < 0) break;
  }
  return ids === undefined ? last : ids[last]!;
}

function argmax(scores: Scores): number {
  let best = 0;
  for (let id = 1; id < scores.length; id++) if (scores[id]! > scores[best]!) best = id;
  return best;
}

/** ln of the sum of exp(logits / temperature). */
function logSumExp(logits: Scores, temperature: number): number {
  const highest = logits[argmax(logits)]!;
  let sum = 0;
  for (const logit of logits) sum += Math.exp((logit - highest) / temperature);
  return highest / temperature + Math.log(sum);
}

/** ln p of one token among all, at the effective temperature. */
export const logProbOf = (logits: Float32Array, temperature: number, id: number): number =>
  logits[id]! / effectiveTemperature(temperature) - logSumExp(logits, effectiveTemperature(temperature));

/**
 * The k likeliest tokens with ln p of softmax(logits / temperature), likeliest first; ties: the lower id first.
 */
export function topLogProbs(logits: Float32Array, temperature: number, k: number): readonly SampledToken[] {
  const count = Math.min(k, logits.length);
  if (count <= 0) return [];
  const total = logSumExp(logits, temperature);
  const best: number[] = []; // ids, likeliest first
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (best.length === count && logit <= logits[best[count - 1]!]!) continue;
    let at = best.length;
    while (at > 0 && logits[best[at - 1]!]! < logit) at--;
    best.splice(at, 0, id);
    if (best.length > count) best.pop();
  }
  return best.map((id) => ({ id, logProb: logits[id]! / temperature - total }));
}
