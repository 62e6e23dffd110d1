import type { PerToken } from './reduction.ts';

export type KlEstimator = 'k1' | 'k2' | 'k3';

/**
 * Estimates of KL(cur || ref) from tokens sampled from `cur` (Schulman 2020, "Approximating KL divergence").
 * k1 = cur - ref is unbiased and may be negative; k2 = (cur - ref)^2 / 2; k3 = exp(ref - cur) - (ref - cur) -
 * 1 is unbiased and never negative.
 *
 * Their gradients are another matter (Liu et al. 2025, arXiv 2510.01555): as a loss k2 has, in expectation, the
 * gradient of KL(cur || ref), k3 that of KL(ref || cur), which grows without bound where cur is far below ref,
 * and k1 none at all.
 *
 * @param cur log-probs under the parameters that are being trained, nats, [N][T]
 * @param ref log-probs under the reference, constants, [N][T]
 * @param shares share of each token in the mean, see tokenShares, [N][T]
 * @returns loss in nats, and d loss / d cur
 */
export function klLoss(
  cur: PerToken,
  ref: PerToken,
  shares: PerToken,
  estimator: KlEstimator,
): { readonly loss: number; readonly gradient: Float64Array[] } {
  const estimate = estimators[estimator];
  let loss = 0;
  const gradient = cur.map((row, sequence) => {
    const slope = new Float64Array(row.length);
    for (let index = 0; index < row.length; index++) {
      const share = shares[sequence]![index]!;
      if (share === 0) continue;
      const token = estimate(row[index]! - ref[sequence]![index]!);
      loss += share * token.value;
      slope[index] = share * token.slope;
    }
    return slope;
  });
  return { loss, gradient };
}

/** By `gap` = cur - ref: the estimate and its derivative. */
const estimators: Readonly<
  Record<KlEstimator, (gap: number) => { readonly value: number; readonly slope: number }>
> = {
  k1: (gap) => ({ value: gap, slope: 1 }),
  k2: (gap) => ({ value: gap ** 2 / 2, slope: gap }),
  // expm1 keeps what exp(x) - 1 loses where the two agree
  k3: (gap) => ({ value: Math.expm1(-gap) + gap, slope: -Math.expm1(-gap) }),
};
