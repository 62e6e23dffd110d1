import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TrainingSettings } from '../../../shared/events/training-settings.ts';
import { loraShapes } from '../../../shared/policy/model/lora.ts';
import { hintMarker } from '../../../shared/policy/text/hint.ts';
import { openTrainingServer } from '../../../shared/tinker/open-training-server.ts';
import type { DialectName, TrainingServer } from '../../../shared/tinker/training-server.ts';
import { type TinkerFake, tinkerFake } from '../../../test/tinker-fakes/tinker-fake.ts';
import type { LearningEngine } from '../learning-engine.ts';
import { localEngine } from '../local-engine.ts';
import { localTraining } from '../local-trainee.ts';
import { type Candidate, step } from '../step.ts';
import { batchData, sampleData } from '../testing/facts.ts';
import type { TrainingEngine } from '../trainee.ts';
import { remoteTraining } from './remote-training.ts';

/** A whole step on a server against the same step in this process: every loss, and every kind of server that trains. */

const writePrompt: LearningEngine['writePrompt'] = ({ messages }) =>
  JSON.stringify(messages).includes(hintMarker) ? [5, 6, 7, 30] : [5, 6, 7];

/** Four answers, with a slightly stale policy, half of them with a hint. */
const samplesFor = (engine: LearningEngine) =>
  [
    [31, 8, 77, 600, 2],
    [12, 13],
    [102, 103, 104],
    [9, 8, 7, 6, 5, 4],
  ].map((responseIds, n) => {
    const [row] = engine.score(undefined, [{ promptIds: [5, 6, 7], responseIds }]);
    const logProbs = Array.from(row!, (logProb, t) => logProb + 0.2 * Math.sin(n + 3 * t));
    return sampleData(`sample ${n}`, {
      verdict: n % 2 === 0 ? 1 : -1,
      hints: n < 2 ? ['as the hint says'] : [],
      tokens: { promptIds: [5, 6, 7], responseIds, logProbs },
    });
  });

const common = { rank: 4, alpha: 32, gateMeanKl: 100, learningRate: 2e-3, gradientClip: 1e9 };
const several = { minibatches: 2, epochs: 2 } as const;
const losses: Readonly<Record<string, Partial<TrainingSettings>>> = {
  binary: { method: 'binary', ...several, klCoefficient: 0.05 },
  'opd sampled': { method: 'opd', teacher: 'base' },
  combine: { method: 'combine', ...several },
};
const ofSeveralTokens: typeof losses = {
  topk: { method: 'combine', distillation: 'topk', topK: 5, ...several },
  overlap: { method: 'combine', distillation: 'overlap', topK: 5, ...several },
};

const dialects: readonly DialectName[] = ['skyrl-jax', 'tinker'];
describe.each(dialects)('dialect %s', (dialect) => {
  let fake: TinkerFake;
  let server: TrainingServer;
  let engine: LearningEngine;
  let remote: TrainingEngine;
  const states: string[] = [];
  beforeAll(async () => {
    fake = await tinkerFake({ dialect });
    server = openTrainingServer({ url: fake.url, apiKey: 'tml-test', dialect, model: 'tiny' });
    engine = localEngine(fake.policy, writePrompt, () => Promise.reject(new Error('no other teacher')));
    remote = remoteTraining({
      server,
      url: fake.url,
      shapesOf: (rank) => loraShapes(fake.policy.config, rank),
      writePrompt,
      contextTokens: 512,
      probe: { promptIds: [5, 6], responseIds: [7, 8, 9] },
      signal: new AbortController().signal,
      about: {},
      onState: async (path) => void states.push(path),
    });
  });
  afterAll(async () => {
    await server.close();
    await fake.stop();
  });

  const run = async (
    on: TrainingEngine,
    settings: Partial<TrainingSettings>,
    parent?: Candidate,
  ): Promise<Candidate> => {
    const n = parent === undefined ? 1 : 2;
    const samples = samplesFor(engine);
    const batch = batchData(n, samples, { ...common, ...settings });
    const result = await step(on, { parent, batch, samples, label: `${n}-abc` });
    if (result.kind !== 'candidate') throw new Error(result.detail);
    return result;
  };
  const valuesOf = ({ adapter }: Candidate) =>
    [...adapter.tensors].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { values }]) => values);

  test.each(Object.entries(dialect === 'tinker' ? { ...losses, ...ofSeveralTokens } : losses))(
    '%s: two steps are those of this process',
    async (_, settings) => {
      let [here, there]: (Candidate | undefined)[] = [undefined, undefined];
      for (const _ of [1, 2]) {
        here = await run(localTraining(engine), settings, here);
        there = await run(remote, settings, there);
        const [mine, its] = [valuesOf(here), valuesOf(there)];
        const apart = Math.max(
          ...mine.map((values, n) => Math.max(...values.map((value, at) => Math.abs(value - its[n]![at]!)))),
        );
        // requests carry f32, and AdamW moves a weight by the rate even where its gradient is only rounding
        expect(apart).toBeLessThan(2e-4);
        expect(there.metrics.gradientNorm! / here.metrics.gradientNorm!).toBeCloseTo(1, 4);
        expect(there.metrics.loss).toBeCloseTo(here.metrics.loss!, 4);
        expect(there.optimizer.step).toBe(here.optimizer.step);
        expect(there.baseline).toEqual(here.baseline);
      }
      expect(fake.models()).toEqual([]);
    },
  );
});
