import type { Executor, Tensor } from '../executors/executor.ts';
import { add } from './arithmetic.ts';

/** The tokens among which each row was sampled; undefined: all of the vocabulary. */
export type AllowedRows = readonly (readonly number[] | undefined)[];

/** Added to the logits of excluded tokens. Their probability is exactly 0 in f32, and no difference is infinite. */
const EXCLUDED = -1e9;

/**
 * What to add to logits [rows, width] so that each row is normalised over its allowed tokens: the policy that a
 * guard restricts (invalid action masking, arXiv 2006.14171). Undefined if no row is restricted.
 */
function exclusionOf(allowed: AllowedRows | undefined, width: number): Float32Array | undefined {
  if (allowed === undefined || allowed.every((ids) => ids === undefined)) return undefined;
  const values = new Float32Array(allowed.length * width);
  allowed.forEach((ids, row) => {
    if (ids === undefined) return;
    values.fill(EXCLUDED, row * width, (row + 1) * width);
    for (const id of ids) values[row * width + id] = 0;
  });
  return values;
}

/** Uploads an exclusion; undefined if there is none. */
export const uploadExclusion = (
  executor: Executor,
  allowed: AllowedRows | undefined,
  width: number,
): Tensor | undefined => {
  const values = exclusionOf(allowed, width);
  return values && executor.upload(values, [values.length / width, width]);
};

/** The logits with excluded tokens; the same tensor if nothing is excluded. The derivative is the identity. */
export const excluded = (executor: Executor, logits: Tensor, exclusion: Tensor | undefined): Tensor =>
  exclusion === undefined ? logits : add(executor, logits, exclusion);
