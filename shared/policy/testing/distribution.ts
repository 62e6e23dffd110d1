/**
 * log softmax(logits / temperature) of one position, in f64, nats, [vocabulary]. Shifted by the largest logit
 * first, so that large logits keep their differences.
 */
export function logSoftmax(logits: ArrayLike<number>, temperature = 1): Float64Array {
  let most = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) most = Math.max(most, logits[id]!);
  const scaled = Float64Array.from(logits, (logit) => (logit - most) / temperature);
  let sum = 0;
  for (const logit of scaled) sum += Math.exp(logit);
  const normaliser = Math.log(sum);
  return scaled.map((logit) => logit - normaliser);
}

/** Entropy of one position, nats, and its derivative by the logits: -p (log p + entropy) / temperature. */
export function entropyOf(
  logProbs: Float64Array,
  temperature = 1,
): { readonly entropy: number; readonly gradient: Float64Array } {
  let entropy = 0;
  for (const logProb of logProbs) entropy -= weighted(logProb, logProb);
  const gradient = logProbs.map((logProb) => -weighted(logProb, logProb + entropy) / temperature);
  return { entropy, gradient };
}

/** d logits of a loss of one position's log-probs: (g - p sum g) / temperature, [vocabulary] */
export function logSoftmaxVjp(
  logProbs: Float64Array,
  byLogProbs: ReadonlyMap<number, number>,
  temperature = 1,
): Float64Array {
  let sum = 0;
  for (const slope of byLogProbs.values()) sum += slope;
  const gradient = logProbs.map((logProb) => (-Math.exp(logProb) * sum) / temperature);
  for (const [id, slope] of byLogProbs) gradient[id]! += slope / temperature;
  return gradient;
}

/**
 * Log-probs of some tokens and, last, of all other tokens together, [k + 1]. The rest is summed directly: 1 minus the
 * chosen tokens would lose precision if they have nearly all of the mass.
 */
export function binLogProbs(logProbs: Float64Array, ids: readonly number[]): Float64Array {
  const chosen = new Set(ids);
  let most = Number.NEGATIVE_INFINITY;
  logProbs.forEach((logProb, id) => {
    if (!chosen.has(id)) most = Math.max(most, logProb);
  });
  let sum = 0;
  logProbs.forEach((logProb, id) => {
    if (!chosen.has(id)) sum += Math.exp(logProb - most);
  });
  const rest = sum === 0 ? Number.NEGATIVE_INFINITY : most + Math.log(sum);
  return Float64Array.from([...ids.map((id) => logProbs[id]!), rest]);
}

/** The input and result of binLogProbs. */
type BinnedLogProbs = {
  readonly logProbs: Float64Array;
  readonly ids: readonly number[];
  readonly bins: Float64Array;
};

/** d logits of a loss of binLogProbs; the slope of the rest is split over its tokens by their share of it. */
export function binLogProbsVjp(
  { logProbs, ids, bins }: BinnedLogProbs,
  byBins: ArrayLike<number>,
  temperature = 1,
): Float64Array {
  const slopes = new Map(ids.map((id, bin) => [id, byBins[bin]!]));
  const byRest = byBins[ids.length]!;
  const rest = bins[ids.length]!;
  const gradient = logSoftmaxVjp(logProbs, slopes, temperature);
  logProbs.forEach((logProb, id) => {
    const shareOfRest = slopes.has(id) ? 0 : Math.exp(logProb - rest);
    gradient[id]! += ((shareOfRest - Math.exp(logProb)) * byRest) / temperature;
  });
  return gradient;
}

/** p * value, and 0 if p is 0. */
const weighted = (logProb: number, value: number): number => {
  const p = Math.exp(logProb);
  return p === 0 ? 0 : p * value;
};
