import { compiled } from '../executors/compiled.ts';
import type { Executor, Tensor } from '../executors/executor.ts';
import { layerForward, type RowContext } from '../model/layer.ts';
import { layerOf, logitsOf, type Network } from '../model/model.ts';
import { embed } from '../model/weights.ts';
import { gatherRows, type Indices } from '../ops/embedding.ts';
import type { CachedRows } from '../ops/kv-cache.ts';

/** New rows, of one sequence or of several. */
type RowInputs = {
  /** Their tokens. */
  readonly ids: Int32Array;
  /** [rows, heads + keyValueHeads, headSize / 2] */
  readonly rotation: Tensor;
  readonly cached: CachedRows;
  /** Which of the rows get logits. */
  readonly wanted: 'all' | 'last';
};

/** Names of the graphs; one native call computes all layers, for any sizes, and writes to the cache. */
const graphOf = { step: 'decode step', piece: 'piece of a prompt' } as const;

/**
 * Computes new rows over the cache.
 *
 * @returns logits [wanted rows, vocabulary]
 */
export function decodeRows(
  executor: Executor,
  network: Network,
  { ids, rotation, cached, wanted }: RowInputs,
): Tensor {
  const last = wanted === 'last' ? Int32Array.of(ids.length - 1) : undefined;
  const name = wanted === 'all' ? graphOf.step : graphOf.piece;
  return compiled(
    executor,
    { name, sizes: 'varying' },
    { network, ids: ids as Indices, rotation, rows: cached.inputs, last },
    (on, { network: { config, weights, lora }, ...input }) => {
      let x = embed(on, weights, input.ids); // [rows, hidden]
      for (let layer = 0; layer < weights.layers.length; layer++) {
        const rowContext: RowContext = {
          normEpsilon: config.normEpsilon,
          rotation: input.rotation,
          attend: (inputs) => ({
            output: cached.attend(on, input.rows, { ...inputs, layer }),
            saved: undefined,
          }),
        };
        x = on.scope(() => layerForward(on, layerOf({ weights, lora }, layer), x, rowContext).output);
      }
      const wantedRows = input.last === undefined ? x : gatherRows(on, x, input.last);
      return logitsOf(on, { config, weights }, wantedRows);
    },
  );
}
