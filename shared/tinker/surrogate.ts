import { createDatum, type Datum } from './datum.ts';
import type { Surrogate } from './dialects.ts';
import type { GradientContext, ServerCandidates, ServerSequence, ServerSlopes } from './training-server.ts';

/** What a forward pass needs: cross entropy with weights of 0 adds no gradient, where it is no forward call. */
export const scoringDatums = (
  sequences: readonly ServerSequence[],
  candidates?: ServerCandidates,
): readonly Datum[] =>
  sequences.map((sequence, index) => {
    const ids = candidates?.ids[index];
    const width = ids === undefined ? 1 : 1 + candidates!.count;
    const values = new Float64Array(sequence.responseIds.length * width);
    return createDatum(
      sequence,
      { weights: { values, width } },
      ids === undefined ? undefined : { count: candidates!.count, ids },
    );
  });

/**
 * Data whose loss has the gradient g = dLoss/dlogProb at the current weights. Sum of -w logProb has it for w = -g. The
 * loss -ratio A, with ratio = exp(logProb - current) = 1, has it for A = -g; a server that averages over the T tokens
 * of a sequence and over N sequences needs A = -g T N.
 */
export function surrogateDatums(
  { loss, mask, averages }: Surrogate,
  sequences: readonly ServerSequence[],
  { sampled, candidates }: ServerSlopes,
  { current, sequencesUntilStep }: GradientContext,
): readonly Datum[] {
  return sequences.map((sequence, index) => {
    const slopes = sampled[index]!;
    const { length } = sequence.responseIds;
    if (loss === 'cross_entropy') {
      const ids = candidates?.ids[index];
      if (ids === undefined)
        return createDatum(sequence, { weights: { values: Float64Array.from(slopes, (g) => -g) } });
      const { count } = candidates!;
      const others = candidates!.slopes[index];
      const values = new Float64Array(length * (1 + count));
      for (let t = 0; t < length; t++) {
        values[t * (1 + count)] = -slopes[t]!;
        for (let k = 0; k < count; k++) values[t * (1 + count) + 1 + k] = -(others?.[t * count + k] ?? 0);
      }
      return createDatum(sequence, { weights: { values, width: 1 + count } }, { count, ids });
    }
    const scale = averages ? length * sequencesUntilStep : 1;
    return createDatum(sequence, {
      ...(mask && { weights: { values: new Float64Array(length).fill(1) } }),
      logprobs: { values: current[index]! },
      advantages: { values: Float64Array.from(slopes, (g) => -g * scale) },
    });
  });
}
