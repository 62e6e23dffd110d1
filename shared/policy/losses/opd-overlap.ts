import type { ClipSettings } from './binary.ts';
import type { GapSettings } from './opd.ts';
import type { BinLoss, PerBin } from './opd-topk.ts';
import type { PerToken } from './reduction.ts';
import { surrogate } from './surrogate.ts';

/** Which hint teaches: the best of a whole answer, the best at each token, or the first. */
type HintSelection = 'sequence' | 'token' | 'first';

/** |a & b| */
export const overlapOf = (a: readonly number[], b: readonly number[]): number =>
  a.filter((id) => b.includes(id)).length;

/**
 * The hint under which the teacher's likely tokens overlap most with the student's. Then the teacher's gaps are
 * about the hint and not about a different style. Ties: the first.
 *
 * @param overlaps |student's k and teacher's k most likely tokens|, [hints][T]
 * @param mask 1 for tokens that count, otherwise 0: [T]
 * @returns the hint's index per token, [T]
 */
export function chooseHints(
  overlaps: readonly (readonly number[])[],
  mask: ArrayLike<number>,
  selection: HintSelection,
): readonly number[] {
  const tokens = overlaps[0]!.map((_, index) => index);
  const best = (sums: readonly number[]) => sums.indexOf(Math.max(...sums));
  switch (selection) {
    case 'first':
      return tokens.map(() => 0);
    case 'token':
      return tokens.map((index) => best(overlaps.map((row) => row[index]!)));
    case 'sequence': {
      const hint = best(
        overlaps.map((row) => row.reduce((sum, count, t) => sum + (mask[t] === 0 ? 0 : count), 0)),
      );
      return tokens.map(() => hint);
    }
  }
}

/**
 * Distillation over a few tokens per position (OpenClaw-RL's top-k form). Per token v of the subset: A_v =
 * softmax(old over the subset)_v clip(teacher_v - old_v, +-gapClip), a constant; ratio_v = exp(cur_v -
 * old_v); the position's loss is -sum of min(ratio_v A_v, clip(ratio_v) A_v).
 *
 * @param cur log-probs of the subset under the parameters that are being trained, nats, [N][T][subset]
 * @param old like `cur`, before the step; constants
 * @param teacher like `cur`, under the teacher with the chosen hint; constants
 * @param shares share of each token in the mean, [N][T]
 */
export function opdOverlapLoss(
  { cur, old, teacher }: { readonly cur: PerBin; readonly old: PerBin; readonly teacher: PerBin },
  shares: PerToken,
  settings: Pick<ClipSettings, 'clipLow' | 'clipHigh'> & GapSettings,
): BinLoss {
  const clip = { ...settings, dualClip: undefined };
  let loss = 0;
  const gradient = cur.map((tokens, sequence) =>
    tokens.map((subset, index) => {
      const slope = new Float64Array(subset.length);
      const share = shares[sequence]![index]!;
      if (share === 0) return slope;
      const before = old[sequence]![index]!;
      const advantages = overlapAdvantages(before, teacher[sequence]![index]!, settings);
      for (let v = 0; v < subset.length; v++) {
        const token = surrogate(Math.exp(subset[v]! - before[v]!), advantages[v]!, clip);
        loss -= share * token.value;
        slope[v] = -share * token.slope;
      }
      return slope;
    }),
  );
  return { loss, gradient };
}

/** A_v of one position, [subset] */
function overlapAdvantages(
  old: ArrayLike<number>,
  teacher: ArrayLike<number>,
  { gapClip }: GapSettings,
): Float64Array {
  const most = Math.max(...Array.from(old));
  const weights = Float64Array.from(old, (logProb) => Math.exp(logProb - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map(
    (weight, v) => (weight / total) * Math.min(Math.max(teacher[v]! - old[v]!, -gapClip), gapClip),
  );
}
