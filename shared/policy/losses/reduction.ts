/** Numbers per token: one array per sequence, each as long as its response. */
export type PerToken = readonly ArrayLike<number>[];

/**
 * `sample`: mean over the sequences that have an unmasked token of their own token mean. `token`: mean over
 * all unmasked tokens.
 */
export type MeanOver = 'sample' | 'token';

/**
 * The share of each token in the mean; shares sum to 1, or are all 0 where everything is masked. A loss is
 * then the sum of share times token loss, which can be added up over parts of a batch.
 *
 * @param mask 1 where a token counts, 0 where it does not: [N][T]
 * @param weights of the sequences, against each other, [N]; all alike unless told
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

/** A mask that keeps every token of these sequences. */
export const keepAll = (rows: PerToken): Float64Array[] =>
  rows.map((row) => new Float64Array(row.length).fill(1));

const total = (row: ArrayLike<number>): number => {
  let sum = 0;
  for (let index = 0; index < row.length; index++) sum += row[index]!;
  return sum;
};
