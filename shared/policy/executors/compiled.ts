import type { Executor } from './executor.ts';
import type { GraphOptions } from './graph/compiled.ts';
import type { NativeExecutor } from './native.ts';

/**
 * Runs `body` as one native call where the executor has graphs, else op by op. See Graphs for what it may do:
 * it must be a pure function of its inputs, on the executor that it is given. What it makes and does not
 * return is freed.
 */
export function compiled<On extends Executor, Inputs, Outputs>(
  executor: On,
  options: GraphOptions,
  inputs: Inputs,
  body: (executor: On, inputs: Inputs) => Outputs,
): Outputs {
  if (executor.kind === 'wasm' || executor.graphs === undefined)
    return executor.scope(() => body(executor, inputs));
  // What runs a graph is native, and so is what records it.
  return executor.graphs.run(options, inputs, body as (executor: NativeExecutor, inputs: Inputs) => Outputs);
}
