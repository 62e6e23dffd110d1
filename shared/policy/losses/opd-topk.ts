import type { PerToken } from './reduction.ts';

/** Numbers per bin of each token: [N][T][bins]. */
export type PerBin = readonly (readonly ArrayLike<number>[])[];

export type BinLoss = {
  /** sum of share times token loss, nats */
  readonly loss: number;
  /** d loss / d student, with every bin's log-prob as a separate variable, [N][T][bins] */
  readonly gradient: Float64Array[][];
};

/**
 * (1 - f) KL(student || teacher) + f KL(teacher || student) over the teacher's k most likely tokens and one bin for all
 * others, so that each position teaches the whole distribution instead of the sampled token (Agarwal et al. 2024,
 * section 3, over k + 1 bins). Both terms are 0 only where the distributions agree. The gradient of the first vanishes
 * where the student is sure of what the teacher rejects; that of the second does not.
 *
 * @param student log-probs of the bins under the parameters that are being trained, the rest last,
 *   [N][T][k + 1]
 * @param teacher the same bins under the teacher, constants
 * @param shares share of each token in the mean, see tokenShares, [N][T]
 * @param forward f, from 0 to 1
 */
export function opdTopkLoss(student: PerBin, teacher: PerBin, shares: PerToken, forward = 0): BinLoss {
  let loss = 0;
  const gradient = student.map((tokens, sequence) =>
    tokens.map((bins, index) => {
      const slope = new Float64Array(bins.length);
      const share = shares[sequence]![index]!;
      if (share === 0) return slope;
      for (let bin = 0; bin < bins.length; bin++) {
        const [logS, logT] = [bins[bin]!, teacher[sequence]![index]![bin]!];
        // each only where it counts: one of them may be infinite
        const [back, ahead] = [
          forward < 1 ? reverseKl(logS, logT) : none,
          forward > 0 ? forwardKl(logS, logT) : none,
        ];
        loss += share * ((1 - forward) * back.value + forward * ahead.value);
        slope[bin] = share * ((1 - forward) * back.slope + forward * ahead.slope);
      }
      return slope;
    }),
  );
  return { loss, gradient };
}

/** One bin's part of a KL, and its derivative by log p of the student. An empty bin adds 0. */
type BinKl = { readonly value: number; readonly slope: number };
const none: BinKl = { value: 0, slope: 0 };

/** Of KL(student || teacher). */
function reverseKl(logS: number, logT: number): BinKl {
  const p = Math.exp(logS);
  return p === 0 ? none : { value: p * (logS - logT), slope: p * (logS - logT + 1) };
}

/** Of KL(teacher || student). */
function forwardKl(logS: number, logT: number): BinKl {
  const p = Math.exp(logT);
  return p === 0 ? none : { value: p * (logT - logS), slope: -p };
}
