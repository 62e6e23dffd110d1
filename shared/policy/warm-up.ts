import type { TrainingKind } from '../events/training-settings.ts';
import { createDecoder } from './decoding.ts';
import { createLora } from './lora.ts';
import type { Policy } from './policy.ts';
import { scoreResponses } from './scoring.ts';
import { lossAndGradients } from './training.ts';

/**
 * Makes graphs before anybody waits for them: a second for a small model, ten for one of 135 million weights.
 * Their sizes are fed, so that the shortest input makes those for all. Where there are no graphs, it does
 * nothing.
 *
 * @returns a line for the log
 */
function warmUp({ executor }: Policy, body: () => void): string {
  if (executor.kind === 'wasm' || executor.graphs === undefined) return 'nothing to make ready';
  const [start, before] = [performance.now(), executor.graphs.count];
  body();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  return `${executor.graphs.count - before} graphs made ready in ${seconds} s`;
}

/** What a decoder needs, with an adapter and without. */
export const warmUpDecoding = (policy: Policy): string =>
  warmUp(policy, () => {
    const adapter = policy.loadAdapter(createLora(policy.config, { rank: 1, alpha: 1, seed: 0 }));
    for (const used of [undefined, adapter]) {
      const decoder = createDecoder(policy, used, { maxSequences: 1, maxPositions: 2 });
      const { slot } = decoder.admit([0]);
      decoder.step([{ slot, id: 0 }]);
      decoder.dispose();
    }
    adapter.dispose();
  });

/** What a step of training needs: of all weights, or of an adapter on all projections, the usual kind. */
export const warmUpTraining = (policy: Policy, training: TrainingKind = 'lora'): string =>
  warmUp(policy, () => {
    const adapter = policy.loadAdapter(
      training === 'full' ? policy.copyWeights() : createLora(policy.config, { rank: 1, alpha: 1, seed: 0 }),
    );
    const sequences = [{ promptIds: [0], responseIds: [0] }];
    for (const used of [undefined, adapter]) scoreResponses(policy, used, sequences);
    lossAndGradients(policy, adapter, sequences, (logProbs) => ({
      loss: 0,
      metrics: {},
      gradient: logProbs.map((row) => row.map(() => 1)),
    }));
    adapter.dispose();
  });
