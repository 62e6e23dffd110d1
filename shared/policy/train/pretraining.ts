import type { Policy } from '../model/policy.ts';
import { passGradients, type Trainable } from './training.ts';

/**
 * Sequences of one length for pretraining: token t is trained to predict token t + 1 where the mask is not 0.
 */
export type TokenBatch = {
  /** batch * (positions + 1) tokens, row-major */
  readonly tokens: Int32Array;
  readonly batch: number;
  /** Inputs per sequence; each sequence has one more token, which is only predicted. */
  readonly positions: number;
  /** batch * positions weights of the predictions, usually 0 or 1. Default: all are 1. */
  readonly mask?: Float32Array;
};

/**
 * Weighted mean cross entropy over whole sequences, in nats per token, and the gradients of every weight (or of an
 * adapter). The whole batch is computed at once: batch * heads * positions^2 floats per layer must fit in memory.
 */
export function crossEntropyAndGradients(
  policy: Policy,
  { tokens, batch, positions, mask }: TokenBatch,
  trainable: Trainable = 'full',
): { readonly loss: number; readonly gradients: Map<string, Float32Array> } {
  const ids = new Int32Array(batch * positions);
  const rows: number[] = [];
  const targets: number[] = [];
  const weights: number[] = [];
  for (let i = 0, row = 0; i < batch; i++) {
    ids.set(tokens.subarray(i * (positions + 1), i * (positions + 1) + positions), i * positions);
    for (let t = 0; t < positions; t++, row++) {
      const weight = mask?.[row] ?? 1;
      if (weight === 0) continue;
      rows.push(row);
      targets.push(tokens[i * (positions + 1) + t + 1]!);
      weights.push(weight);
    }
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) throw new Error('the mask selects no token of the batch');
  let loss = 0;
  const scored = { batch, positions, ids, rows: Int32Array.from(rows), targets: Int32Array.from(targets) };
  const weigh = ({ logProbs }: { readonly logProbs: Float32Array }) => {
    loss = -logProbs.reduce((sum, logProb, i) => sum + logProb * weights[i]!, 0) / total;
    return { weights: Float32Array.from(weights, (weight) => -weight / total) };
  };
  const gradients = passGradients(policy, trainable, scored, { weigh });
  return { loss, gradients };
}
