import type { PerToken } from './reduction.ts';

type KlEstimator = 'k1' | 'k2' | 'k3';

/**
 * Estimates of KL(cur || ref) from tokens sampled from `cur` (Schulman 2020, "Approximating KL divergence").
 * k1 = cur - ref is unbiased and may be negative; k2 = (cur - ref)^2 / 2; k3 = exp(ref - cur) - (ref - cur) -
 * 1 is unbiased and never negative.
 *
 * Their gradients differ (Liu et al. 2025, arXiv 2510.01555): in expectation, the gradient of k2 is that of
 * KL(cur || ref); the gradient of k3 is that of KL(ref || cur), which grows without bound if cur is far below ref;
 * the gradient of k1 is 0.
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
  // exp(x) - 1 would lose precision near 0
  k3: (gap) => ({ value: Math.expm1(-gap) + gap, slope: -Math.expm1(-gap) }),
};
