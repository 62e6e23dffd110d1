/**
 * log softmax(logits / temperature) of one position, in f64, nats, [vocabulary]. Shifted by the largest logit
 * first, so that logits of any size keep their differences.
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
 * log-probs of some tokens and, last, of all the others as one, [k + 1]. The rest is summed up itself: 1
 * minus
 * the others would lose it where they are nearly everything.
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

/** d logits of a loss of binLogProbs; the rest's share goes to its tokens by their part in it. */
export function binLogProbsVjp(
  logProbs: Float64Array,
  ids: readonly number[],
  bins: Float64Array,
  byBins: ArrayLike<number>,
  temperature = 1,
): Float64Array {
  const slopes = new Map(ids.map((id, bin) => [id, byBins[bin]!]));
  const byRest = byBins[ids.length]!;
  const rest = bins[ids.length]!;
  const gradient = logSoftmaxVjp(logProbs, slopes, temperature);
  logProbs.forEach((logProb, id) => {
    const own = slopes.has(id) ? 0 : Math.exp(logProb - rest);
    gradient[id]! += ((own - Math.exp(logProb)) * byRest) / temperature;
  });
  return gradient;
}

/**
 * Slopes by the chosen tokens' log-probs alone, where the rest is what they leave: d log rest / d log p = -p /
 * rest.
 *
 * @param bins log-probs, the rest last, [k + 1]
 * @param byBins slopes where every bin is a variable of its own, [k + 1]
 * @returns [k]
 */
export function withoutRest(bins: ArrayLike<number>, byBins: ArrayLike<number>): Float64Array {
  const k = bins.length - 1;
  const byRest = byBins[k]!;
  const part = (bin: number) => (byRest === 0 ? 0 : byRest * Math.exp(bins[bin]! - bins[k]!));
  return Float64Array.from({ length: k }, (_, bin) => byBins[bin]! - part(bin));
}

/** Ids of the k largest, the largest first; of equals the lower id. */
export function topIds(values: ArrayLike<number>, k: number): readonly number[] {
  const best: number[] = [];
  for (let id = 0; id < values.length; id++) {
    if (best.length === k && !(values[id]! > values[best[k - 1]!]!)) continue;
    let at = best.length;
    while (at > 0 && values[id]! > values[best[at - 1]!]!) at--;
    best.splice(at, 0, id);
    if (best.length > k) best.pop();
  }
  return best;
}

/** p times value, where p of 0 takes all. */
const weighted = (logProb: number, value: number): number => {
  const p = Math.exp(logProb);
  return p === 0 ? 0 : p * value;
};
