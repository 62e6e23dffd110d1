import type { TrainingKind } from '../../events/training-settings.ts';
import { createLora } from '../model/lora.ts';
import type { Policy } from '../model/policy.ts';
import { scoreResponses } from '../train/scoring.ts';
import { lossAndGradients } from '../train/training.ts';
import { createDecoder } from './decoding.ts';

/**
 * Compiles graphs before the first request: one second for a small model, ten for 135 million weights. Sizes are
 * fed, so that the shortest input compiles the graphs for all sizes. Without graphs it does nothing.
 *
 * @returns a line for the log
 */
function warmUp({ executor }: Policy, body: () => void): string {
  if (executor.kind === 'wasm' || executor.graphs === undefined) return 'no graphs to compile';
  const [start, before] = [performance.now(), executor.graphs.count];
  body();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  return `${executor.graphs.count - before} graphs compiled in ${seconds} s`;
}

/** Compiles the graphs of a decoder, with and without an adapter. */
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

/** Compiles the graphs of a training step: of full weights, or of an adapter on all projections. */
export const warmUpTraining = (policy: Policy, training: TrainingKind = 'lora'): string =>
  warmUp(policy, () => {
    const adapter = policy.loadAdapter(
      training === 'full' ? policy.copyWeights() : createLora(policy.config, { rank: 1, alpha: 1, seed: 0 }),
    );
    const sequences = [{ promptIds: [0], responseIds: [0] }];
    for (const used of [undefined, adapter]) scoreResponses(policy, used, sequences);
    lossAndGradients(policy, adapter, sequences, {
      loss: (logProbs) => ({
        loss: 0,
        metrics: {},
        gradient: logProbs.map((row) => row.map(() => 1)),
      }),
    });
    adapter.dispose();
  });
