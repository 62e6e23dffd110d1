import type { Executor, GraphOptions, NativeExecutor } from './executor.ts';

/**
 * Runs `body` as one native call if the executor has graphs, else op by op. `body` must be a pure function of its
 * inputs, on the executor that it gets (see Graphs). Tensors that it makes and does not return are freed.
 */
export function compiled<On extends Executor, Inputs, Outputs>(
  executor: On,
  options: GraphOptions,
  inputs: Inputs,
  body: (executor: On, inputs: Inputs) => Outputs,
): Outputs {
  if (executor.kind === 'wasm' || executor.graphs === undefined)
    return executor.scope(() => body(executor, inputs));
  // Only native executors have graphs, and the recorder is native too.
  return executor.graphs.run(options, inputs, body as (executor: NativeExecutor, inputs: Inputs) => Outputs);
}
