import { expect, test } from 'vitest';
import { initialWeights } from '../model/initialise.ts';
import { createLora } from '../model/lora.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { loadPolicy, type Policy, weightsInMemory } from '../model/policy.ts';
import { describeOnBackends } from '../testing/backends.ts';
import { lossAndGradients } from '../train/training.ts';
import { createDecoder } from './decoding.ts';
import { warmUpDecoding, warmUpTraining } from './warm-up.ts';

const config: ModelConfig = {
  family: 'llama',
  vocabularySize: 40,
  hiddenSize: 16,
  layers: 3,
  heads: 2,
  keyValueHeads: 1,
  headSize: 8,
  intermediateSize: 24,
  maxPositions: 1024,
  ropeTheta: 10_000,
  ropeScaling: undefined,
  normEpsilon: 1e-5,
  tiedHead: false,
  attentionBias: false,
  queryKeyNorm: false,
};

const ids = (length: number) => Array.from({ length }, (_, i) => i % 40);

describeOnBackends('after a warm-up', (backend) => {
  test('decoding and training of any size compile no graph and leave no tensor', async () => {
    const executor = await backend();
    const policy: Policy = await loadPolicy(weightsInMemory(config, initialWeights(config, 1)), executor);
    const count = (): number => (executor.kind === 'native' ? executor.graphs!.count : 0);
    const before = executor.tensorCount();
    const lines = [warmUpDecoding(policy), warmUpTraining(policy), warmUpTraining(policy, 'full')];
    for (const line of lines)
      expect(line).toMatch(executor.kind === 'native' ? /^[1-9]\d* graphs compiled in/ : 'no graphs');
    expect(executor.tensorCount()).toBe(before);

    const ready = count();
    const file = createLora(config, { rank: 4, alpha: 8, seed: 2 });
    const adapter = policy.loadAdapter(file);
    for (const used of [undefined, adapter]) {
      const decoder = createDecoder(policy, used, { maxSequences: 9, maxPositions: 900 });
      const slots = [7, 300, 600].map((length) => decoder.admit(ids(length)).slot);
      decoder.step(slots.map((slot) => ({ slot, id: 1 })));
      decoder.release(slots[1]!);
      decoder.step([{ slot: slots[2]!, id: 1 }]);
      const more = Array.from({ length: 7 }, () => decoder.admit(ids(3)).slot);
      decoder.step([...more, slots[0]!].map((slot) => ({ slot, id: 1 })));
      decoder.dispose();
    }
    const full = policy.loadAdapter(policy.copyWeights());
    for (const [trained, lengths] of [
      [adapter, [5]],
      [adapter, [20, 30, 9]],
      [full, [20, 30, 9]],
    ] as const) {
      const sequences = lengths.map((length) => ({ promptIds: ids(length), responseIds: ids(length) }));
      lossAndGradients(policy, trained, sequences, {
        loss: (logProbs) => ({
          loss: 0,
          metrics: {},
          gradient: logProbs.map((row) => row.map(() => 1)),
        }),
      });
    }
    expect(count()).toBe(ready);
    adapter.dispose();
    full.dispose();
    policy.dispose();
  });
});
