import type { PerToken } from './reduction.ts';
import { surrogate } from './surrogate.ts';

/** One batch, or a part of it. `cur`, `prox` and `behavior` are log-probs in nats; arrays are [N][T]. */
export type PolicyBatch = {
  /** under the parameters that are being trained */
  readonly cur: PerToken;
  /** under the parent checkpoint, before the step; a constant */
  readonly prox: PerToken;
  /** as recorded when the token was sampled; a constant */
  readonly behavior: PerToken;
  /** one per token; a constant */
  readonly advantages: PerToken;
  /** share of each token in the mean, see tokenShares; 0 masks it */
  readonly shares: PerToken;
  /** [N]; true: staleness weight 1 (greedy answers, which are not sampled from their log-probs) */
  readonly unweighted: readonly boolean[];
};

export type ClipSettings = {
  /** the ratio is clipped to [1 - clipLow, 1 + clipHigh] */
  readonly clipLow: number;
  readonly clipHigh: number;
  /** limits a token's loss to -dualClip * A if its advantage A is negative; undefined: unbounded */
  readonly dualClip: number | undefined;
  /** cap of exp(prox - behavior); undefined: the weight is 1 */
  readonly stalenessCap: number | undefined;
};

export type TokenLoss = {
  /** sum of share times token loss */
  readonly loss: number;
  /** d loss / d cur, [N][T] */
  readonly gradient: Float64Array[];
  /** means over the tokens, weighted by share */
  readonly metrics: {
    readonly ratio: number;
    readonly stalenessWeight: number;
    /** share of tokens whose staleness weight is capped */
    readonly stalenessCapped: number;
    /** share of tokens where the plain clip is active */
    readonly clipFraction: number;
    /** share of tokens where the dual clip is active */
    readonly dualClipFraction: number;
    /** k3 estimate of KL(prox || cur): how far the policy has moved during the step */
    readonly approximateKl: number;
  };
};

/**
 * Decoupled PPO with asymmetric clipping: Hilton et al. 2021, "Batch size-invariance for policy
 * optimization", section 3; separate upper and lower bounds as in DAPO (Yu et al. 2025), section 3.1; dual clip
 * as in Ye et al. 2020, section 3.
 *
 * Per token: ratio = exp(cur - prox), surrogate = min(ratio A, clip(ratio) A), weight = min(exp(prox -
 * behavior), cap); loss = -share * weight * surrogate. Gradients flow only through `cur`.
 */
export function binaryLoss(batch: PolicyBatch, clip: ClipSettings): TokenLoss {
  const metrics = {
    ratio: 0,
    stalenessWeight: 0,
    stalenessCapped: 0,
    clipFraction: 0,
    dualClipFraction: 0,
    approximateKl: 0,
  };
  let loss = 0;
  const gradient = batch.cur.map((row, sequence) => {
    const slope = new Float64Array(row.length);
    for (let index = 0; index < row.length; index++) {
      const share = batch.shares[sequence]![index]!;
      if (share === 0) continue;
      const prox = batch.prox[sequence]![index]!;
      const logRatio = row[index]! - prox;
      const weighted = clip.stalenessCap !== undefined && !batch.unweighted[sequence];
      const uncapped = weighted ? Math.exp(prox - batch.behavior[sequence]![index]!) : 1;
      const weight = weighted ? Math.min(uncapped, clip.stalenessCap) : 1;
      const token = surrogate(Math.exp(logRatio), batch.advantages[sequence]![index]!, clip);
      loss -= share * weight * token.value;
      slope[index] = -share * weight * token.slope;
      metrics.ratio += share * Math.exp(logRatio);
      metrics.stalenessWeight += share * weight;
      metrics.stalenessCapped += share * Number(weight < uncapped);
      metrics.clipFraction += share * Number(token.clipped);
      metrics.dualClipFraction += share * Number(token.dualClipped);
      metrics.approximateKl += share * (Math.expm1(logRatio) - logRatio);
    }
    return slope;
  });
  return { loss, gradient, metrics };
}
