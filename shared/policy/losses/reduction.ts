/** Numbers per token: one array per sequence, each as long as its response. */
export type PerToken = readonly ArrayLike<number>[];

/**
 * `sample`: mean of the token means of all sequences that have an unmasked token. `token`: mean over all unmasked
 * tokens.
 */
type MeanOver = 'sample' | 'token';

/**
 * The share of each token in the mean. Shares sum to 1, or are all 0 if every token is masked. A loss is the sum of
 * share times token loss, so that the losses of the parts of a batch can be added.
 *
 * @param mask 1 for tokens that count, otherwise 0: [N][T]
 * @param weights relative weights of the sequences, [N]; default: equal
 */
export function tokenShares(mask: PerToken, mean: MeanOver, weights: readonly number[] = []): Float64Array[] {
  const shares = equalShares(mask, mean);
  if (weights.every((weight) => weight === 1)) return shares;
  const sum = shares.reduce((before, row, index) => before + weights[index]! * total(row), 0);
  return sum === 0 ? shares : shares.map((row, index) => row.map((share) => (share * weights[index]!) / sum));
}

function equalShares(mask: PerToken, mean: MeanOver): Float64Array[] {
  const counts = mask.map((row) => total(row));
  const tokens = total(counts);
  const sequences = counts.filter((count) => count > 0).length;
  return mask.map((row, index) => {
    const divisor = mean === 'token' ? tokens : counts[index]! * sequences;
    return Float64Array.from(row, (on) => (on === 0 ? 0 : 1 / divisor));
  });
}

const total = (row: ArrayLike<number>): number => {
  let sum = 0;
  for (let index = 0; index < row.length; index++) sum += row[index]!;
  return sum;
};
