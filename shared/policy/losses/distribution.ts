/**
 * Slopes by the log-probs of the chosen tokens only, with the rest as 1 minus their sum: d log rest / d log p =
 * -p / rest.
 *
 * @param bins log-probs, the rest last, [k + 1]
 * @param byBins slopes with every bin as a separate variable, [k + 1]
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
