import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LearningEngine } from '../../services/trainer/learning-engine.ts';
import { localEngine } from '../../services/trainer/local-engine.ts';
import { localTraining } from '../../services/trainer/local-trainee.ts';
import { remoteTraining } from '../../services/trainer/remote/remote-training.ts';
import { type Candidate, step } from '../../services/trainer/step.ts';
import { batchData, sampleData } from '../../services/trainer/testing/facts.ts';
import type { TrainingEngine } from '../../services/trainer/trainee.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { loraShapes } from '../../shared/policy/model/lora.ts';
import { hintMarker } from '../../shared/policy/text/hint.ts';
import { emptyAdamWState } from '../../shared/policy/train/adamw.ts';
import { type LocalModel, openLocalModel } from './local-model.ts';
import { describeWithSkyrl, sequencesOf, skyrlForSuite } from './skyrl-for-suite.ts';

// npm run test:nightly -- test/skyrl/losses.nightly.test.ts
// A whole step on SkyRL beside the same step in this process, from the same parent: every loss that SkyRL can do.

const prompt = [31, 32, 33, 34];
const answers = sequencesOf([
  [1, 15],
  [1, 8],
  [1, 12],
  [1, 5],
]).map(({ responseIds }) => responseIds);
const writePrompt: LearningEngine['writePrompt'] = ({ messages }) =>
  JSON.stringify(messages).includes(hintMarker) ? [...prompt, 77, 78] : prompt;

/** Without momentum a step depends on its parent's weights alone, which both engines have. */
const common: Partial<TrainingSettings> = {
  rank: 8,
  alpha: 32,
  beta1: 0,
  beta2: 0,
  epsilon: 1e-2,
  weightDecay: 0,
  learningRate: 1e-2,
  gradientClip: 1e9,
  gateMeanKl: 100,
};
const losses: Readonly<Record<string, Partial<TrainingSettings>>> = {
  binary: { method: 'binary' },
  'binary, minibatches, epochs and KL': {
    method: 'binary',
    minibatches: 2,
    epochs: 2,
    klCoefficient: 0.05,
  },
  'opd, sampled': { method: 'opd', teacher: 'base' },
  combine: { method: 'combine', minibatches: 2, epochs: 2 },
};

describeWithSkyrl('a step on SkyRL is that of this process', () => {
  const on = skyrlForSuite('llama-tiny', { adapters: 4 });
  let local: LocalModel;
  let engine: LearningEngine;
  let remote: TrainingEngine;
  let parent: Candidate;
  beforeAll(async () => {
    local = await openLocalModel(on.model);
    engine = localEngine(local.policy, writePrompt, () => Promise.reject(new Error('no other teacher')));
    remote = remoteTraining({
      server: on.open(),
      url: on.server.url,
      shapesOf: (rank) => loraShapes(local.policy.config, rank),
      writePrompt,
      contextTokens: 512,
      probe: { promptIds: [5, 6], responseIds: [7, 8, 9] },
      signal: new AbortController().signal,
      about: {},
      onState: async () => {},
    });
    parent = await run(remote, 1, { method: 'binary' });
  });
  afterAll(() => local?.close());

  const run = async (
    training: TrainingEngine,
    n: number,
    settings: Partial<TrainingSettings>,
    from?: Candidate,
  ): Promise<Candidate> => {
    const samples = answers.map((responseIds, index) => {
      const [row] = engine.score(undefined, [{ promptIds: prompt, responseIds }]);
      // a policy that is a little stale
      const logProbs = Array.from(row!, (logProb, t) => logProb + 0.2 * Math.sin(index + 3 * t));
      return sampleData(`sample ${index}`, {
        verdict: index % 2 === 0 ? 1 : -1,
        hints: index < 2 ? ['as the hint says'] : [],
        tokens: { promptIds: prompt, responseIds, logProbs },
      });
    });
    const batch = batchData(n, samples, { ...common, ...settings });
    const result = await step(training, { parent: from, batch, samples, label: `${n}-test` });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    return result;
  };

  describe.each(Object.entries(losses))('%s', (name, settings) => {
    test('weights, loss and gradient norm agree', async () => {
      const there = await run(remote, 2, settings, parent);
      const optimizer = { ...emptyAdamWState(), step: parent.optimizer.step };
      const here = await run(localTraining(engine), 2, settings, { ...parent, optimizer });
      let [apart, moved, most] = [0, 0, 0];
      for (const [key, { values }] of here.adapter.tensors) {
        const [other, before] = [there.adapter, parent.adapter].map(
          ({ tensors }) => tensors.get(key)!.values,
        );
        values.forEach((value, i) => {
          apart += (value - other![i]!) ** 2;
          moved += (value - before![i]!) ** 2;
          most = Math.max(most, Math.abs(value - other![i]!));
        });
      }
      const relative = Math.sqrt(apart / moved);
      console.log(`${name}: the update differs by ${relative} (relative), a weight by ${most}`);
      expect(moved).toBeGreaterThan(0);
      expect(relative).toBeLessThan(1e-3);
      expect(most).toBeLessThan(1e-4);
      expect(there.metrics.loss).toBeCloseTo(here.metrics.loss!, 4);
      expect(there.metrics.gradientNorm! / here.metrics.gradientNorm!).toBeCloseTo(1, 3);
      expect(there.optimizer.step).toBe(here.optimizer.step);
    });
  });
});
