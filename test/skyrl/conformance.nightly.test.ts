import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkConformance } from '../../shared/tinker/conformance.ts';
import { adapterOf, type LocalModel, openLocalModel, tiedGradients } from './local-model.ts';
import { describeWithSkyrl, skyrlForSuite } from './skyrl-for-suite.ts';

// npm run test:nightly -- test/skyrl/conformance.nightly.test.ts
// A wrong dialect trains without an error. The check finds it on the real server.

const { signal } = new AbortController();

describeWithSkyrl('the conformance check, with SkyRL', () => {
  const on = skyrlForSuite('llama-tiny', { adapters: 4 });
  let local: LocalModel;
  beforeAll(async () => {
    local = await openLocalModel(on.model);
  });
  afterAll(() => local?.close());

  const check = (dialect: 'skyrl-jax' | 'skyrl-train' | 'tinker' | 'open-rl') =>
    checkConformance(
      on.open(dialect),
      {
        vocabularySize: local.policy.config.vocabularySize,
        reference: {
          score: (sequences) => local.score(undefined, sequences),
          gradientNorm: async (files, sequences, slopes) => {
            const adapter = await adapterOf(files);
            return tiedGradients(adapter, local.gradients(adapter, sequences, slopes)).norm;
          },
        },
      },
      signal,
    );

  test('its own dialect conforms, to the digits of f32', async () => {
    const report = await check('skyrl-jax');
    expect(report.logProbs).toBeLessThan(1e-4);
    expect(report.gradientNorm).toBeGreaterThan(0);
  });

  test.each([
    ['skyrl-train', 'wrong_gradient'],
    ['tinker', 'wrong_gradient'],
    // SkyRL takes no JSON
    ['open-rl', 'refused'],
  ] as const)('dialect %s is refused: %s', async (dialect, code) => {
    await expect(check(dialect)).rejects.toMatchObject({ code });
  });
});
