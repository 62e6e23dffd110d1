import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Skyrl, startSkyrl } from '../../infra/skyrl/start-skyrl.ts';
import { serverTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { checkConformance } from '../../shared/tinker/conformance.ts';
import { openTrainingServer } from '../../shared/tinker/open-training-server.ts';
import type { TrainingServer } from '../../shared/tinker/training-server.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';
import { describeWithSkyrl, sequencesOf } from './skyrl-for-suite.ts';

// npm run test:nightly -- test/skyrl/bf16.nightly.test.ts
// A GPU's models are bf16, and so are SkyRL's adapters, moments and betas then.

const size = { vocabularySize: 1100, hiddenSize: 64, layers: 2, heads: 2, keyValueHeads: 1, headSize: 32 };
const config = { ...randomModels['qwen3-0.6b'], ...size, intermediateSize: 128 };
const sequences = sequencesOf([
  [24, 8],
  [20, 8],
]);

describeWithSkyrl('a bf16 model on SkyRL', () => {
  let folder: string;
  let skyrl: Skyrl;
  let server: TrainingServer;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-bf16-'));
    const model = join(folder, 'model');
    await makeRandomModel(model, config, { dtype: 'BF16' });
    skyrl = await startSkyrl({ model, folder: join(folder, 'server'), adapters: 2 });
    server = openTrainingServer({ url: skyrl.url, apiKey: 'tml-any', dialect: 'skyrl-jax', model });
  });
  afterAll(async () => {
    await server?.close();
    await skyrl?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Mean log-prob of the answers after some steps that raise it, nats. */
  async function meanAfter(steps: number, betas: { readonly beta1: number; readonly beta2: number }) {
    const session = await server.openSession({ test: 'yes' }, new AbortController().signal);
    try {
      const model = await session.createModel({ rank: 8, seed: 3 });
      for (let taken = 0; taken < steps; taken++) {
        const current = await model.forward(sequences);
        const sampled = current.map((row) => new Float64Array(row.length).fill(-1 / 16));
        await model.addGradient(sequences, { sampled }, { current, sequencesUntilStep: sequences.length });
        const rest = { epsilon: 1e-8, weightDecay: 0, gradientClip: undefined };
        await model.optimizerStep({ learningRate: 1e-3, ...betas, ...rest });
      }
      const rows = await model.forward(sequences);
      return rows.flatMap((row) => [...row]).reduce((sum, value) => sum + value / 16, 0);
    } finally {
      await session.close();
    }
  }

  test('learns with the default betas, and with the largest that are not refused', async () => {
    const { beta1, beta2 } = serverTrainingSettings('Qwen/Qwen3-0.6B', server.capabilities);
    const before = await meanAfter(0, { beta1, beta2 });
    const largest = server.capabilities.largestBeta!;
    for (const betas of [
      { beta1, beta2 },
      { beta1, beta2: largest },
    ])
      expect(await meanAfter(10, betas)).toBeGreaterThan(before + 0.1);
  });

  test('a larger beta makes every model on the server NaN, until it starts again', async () => {
    await expect(meanAfter(1, { beta1: 0.9, beta2: 0.999 })).rejects.toMatchObject({ code: 'not_finite' });
    const { signal } = new AbortController();
    const checked = checkConformance(server, { vocabularySize: config.vocabularySize }, signal);
    await expect(checked).rejects.toMatchObject({ code: 'broken_weights' });
    await skyrl.kill();
    await skyrl.start();
    expect(await meanAfter(0, { beta1: 0.9, beta2: 0.95 })).toBeLessThan(0);
  });
});
