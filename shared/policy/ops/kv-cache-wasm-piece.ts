import type { Tensor } from '../executors/executor.ts';
import type { WasmExecutor } from '../executors/wasm.ts';
import { causalSoftmax, gather, headsOf, scatter } from './attention-wasm.ts';
import type { CacheShape, Piece } from './kv-cache.ts';

/** One key/value head of one sequence: rows of headSize, one per position. */
export type HeadCache = { keys: Float32Array; values: Float32Array };

/**
 * Attention of a piece of one sequence over what is cached of it, head by head as products of matrices;
 * stores
 * the piece's keys and values first.
 *
 * @param cache the heads of one layer and slot, with room for the piece
 * @param queryKey [1, count, heads + keyValueHeads, headSize]
 * @param value [count, keyValueHeads * headSize]
 * @returns [count, heads * headSize]
 */
export function attendPiece(
  executor: WasmExecutor,
  { heads, keyValueHeads, headSize }: CacheShape,
  cache: readonly HeadCache[],
  { start, count }: Piece,
  queryKey: Tensor,
  value: Tensor,
): Tensor {
  const group = heads / keyValueHeads;
  const seen = start + count;
  const shape = { batch: 1, positions: count, heads, keyValueHeads, headSize };
  const output = executor.allocate([count, heads * headSize]);
  cache.forEach(({ keys, values }, index) => {
    const where = headsOf(shape, index);
    gather(executor.view(queryKey), keys, start * headSize, where.key(0, count));
    gather(executor.view(value), values, start * headSize, where.value(0, count));
    executor.scope(() => {
      const query = executor.allocate([group * count, headSize]);
      where.query.forEach((head, g) => {
        gather(executor.view(queryKey), executor.view(query), g * count * headSize, head(0, count));
      });
      const known = executor.upload(keys.subarray(0, seen * headSize), [seen, headSize]);
      const scores = executor.matmul(query, executor.transpose(known)); // [group * count, seen]
      causalSoftmax(executor.view(scores), seen, count, start);
      const mixed = executor.matmul(
        scores,
        executor.upload(values.subarray(0, seen * headSize), [seen, headSize]),
      ); // [group * count, headSize]
      where.output.forEach((head, g) => {
        scatter(executor.view(mixed), g * count * headSize, executor.view(output), head(0, count));
      });
    });
  });
  return output;
}
