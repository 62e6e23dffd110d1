import { compiled } from './executors/compiled.ts';
import type { Executor, Tensor } from './executors/executor.ts';
import { layerForward } from './layer.ts';
import type { LoraLayer } from './lora.ts';
import { logitsOf, type Network } from './model.ts';
import { gatherRows, type Indices } from './ops/embedding.ts';
import type { CachedRows } from './ops/kv-cache.ts';
import { embed } from './weights.ts';

/** New rows, of one sequence or of several: everything that they bring along. */
export type RowInputs = {
  /** Their tokens. */
  readonly ids: Int32Array;
  /** [rows, heads + keyValueHeads, headSize / 2] */
  readonly rotation: Tensor;
  readonly cached: CachedRows;
  /** Which of the rows get logits. */
  readonly wanted: 'all' | 'last';
};

/** One native call for all layers, whatever the sizes; the cache is written to on the way. */
const graphOf = { step: 'decode step', piece: 'piece of a prompt' } as const;

/**
 * Computes new rows over what is cached.
 *
 * @returns logits [rows that are wanted, vocabulary]
 */
export function decodeRows(
  executor: Executor,
  { config, weights }: Network,
  lora: readonly LoraLayer[] | undefined,
  { ids, rotation, cached, wanted }: RowInputs,
): Tensor {
  const last = wanted === 'last' ? Int32Array.of(ids.length - 1) : undefined;
  const name = wanted === 'all' ? graphOf.step : graphOf.piece;
  return compiled(
    executor,
    { name, sizes: 'varying' },
    { network: { config, weights }, lora, ids: ids as Indices, rotation, rows: cached.inputs, last },
    (on, input) => {
      const { network, rows } = input;
      let x = embed(on, network.weights, input.ids); // [rows, hidden]
      network.weights.layers.forEach((layer, index) => {
        x = on.scope(
          () =>
            layerForward(
              on,
              network.config,
              layer,
              input.lora?.[index],
              x,
              input.rotation,
              (queryKey, value) => ({
                output: cached.attend(on, rows, index, queryKey, value),
                saved: undefined,
              }),
            ).output,
        );
      });
      return logitsOf(on, network, input.last === undefined ? x : gatherRows(on, x, input.last));
    },
  );
}
