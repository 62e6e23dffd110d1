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
 * `reverse`: KL(student || teacher), which is mode-seeking; `forward`: KL(teacher || student), which is
 * mass-covering.
 */
type KlDirection = 'reverse' | 'forward';

/**
 * KL over the teacher's k most likely tokens and one bin for all others, so that each position teaches the whole
 * distribution instead of the sampled token (Agarwal et al. 2024, section 3, over k + 1 bins).
 *
 * @param student log-probs of the bins under the parameters that are being trained, the rest last,
 *   [N][T][k + 1]
 * @param teacher the same bins under the teacher, constants
 * @param shares share of each token in the mean, see tokenShares, [N][T]
 */
export function opdTopkLoss(
  student: PerBin,
  teacher: PerBin,
  shares: PerToken,
  direction: KlDirection = 'reverse',
): BinLoss {
  let loss = 0;
  const gradient = student.map((tokens, sequence) =>
    tokens.map((bins, index) => {
      const slope = new Float64Array(bins.length);
      const share = shares[sequence]![index]!;
      if (share === 0) return slope;
      for (let bin = 0; bin < bins.length; bin++) {
        const [logS, logT] = [bins[bin]!, teacher[sequence]![index]![bin]!];
        const token = divergence[direction](logS, logT);
        loss += share * token.value;
        slope[bin] = share * token.slope;
      }
      return slope;
    }),
  );
  return { loss, gradient };
}

/** One bin's part of the divergence, and its derivative by log p of the student. An empty bin adds 0. */
const divergence: Readonly<
  Record<KlDirection, (logS: number, logT: number) => { readonly value: number; readonly slope: number }>
> = {
  reverse: (logS, logT) => {
    const p = Math.exp(logS);
    return p === 0 ? { value: 0, slope: 0 } : { value: p * (logS - logT), slope: p * (logS - logT + 1) };
  },
  forward: (logS, logT) => {
    const p = Math.exp(logT);
    return p === 0 ? { value: 0, slope: 0 } : { value: p * (logT - logS), slope: -p };
  },
};
