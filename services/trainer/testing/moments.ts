import type { LocalOptimizer, OptimizerState } from '../../../shared/policy/checkpoints/state.ts';

/** For tests: the moments of a version that was trained in this process. */
export function momentsOf(optimizer: OptimizerState): LocalOptimizer {
  if (optimizer.kind === 'remote') throw new Error(`the moments are on the server, at ${optimizer.path}`);
  return optimizer;
}
