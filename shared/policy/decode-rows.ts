import type { Executor, Tensor } from './executors/executor.ts';
import { layerForward } from './layer.ts';
import type { LoraLayer } from './lora.ts';
import type { Model } from './model.ts';
import { gatherRows } from './ops/embedding.ts';
import type { CachedAttention } from './ops/kv-cache.ts';

/** New rows, of one sequence or of several: everything that they bring along. */
export type RowInputs = {
  /** Their tokens. */
  readonly ids: Int32Array;
  /** [rows, heads + keyValueHeads, headSize / 2] */
  readonly rotation: Tensor;
  readonly attend: CachedAttention;
};

/** The residual stream of new rows after the last layer, [rows, hidden], over what is cached. */
export function decodeRows(
  executor: Executor,
  { config, weights }: Model,
  lora: readonly LoraLayer[] | undefined,
  { ids, rotation, attend }: RowInputs,
): Tensor {
  let x = gatherRows(executor, weights.embedding, ids); // [rows, hidden]
  weights.layers.forEach((layer, index) => {
    x = executor.scope(
      () =>
        layerForward(executor, config, layer, lora?.[index], x, rotation, (queryKey, value) => ({
          output: attend(index, queryKey, value),
          saved: undefined,
        })).output,
    );
  });
  return x;
}
