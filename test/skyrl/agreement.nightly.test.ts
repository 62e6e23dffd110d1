import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AdapterFile } from '../../shared/policy/checkpoints/adapter-files.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { createAdamW, emptyAdamWState } from '../../shared/policy/train/adamw.ts';
import type { RemoteModel } from '../../shared/tinker/training-server.ts';
import { adapterOf, type LocalModel, openLocalModel, tiedGradients } from './local-model.ts';
import { adam, describeWithSkyrl, sequencesOf, skyrlForSuite, worst } from './skyrl-for-suite.ts';

// npm run test:nightly -- test/skyrl/agreement.nightly.test.ts
// Numbers of SkyRL beside those of this repository, from the same adapter and the same gradient by log-prob.

const sequences = sequencesOf([
  [24, 16],
  [11, 9],
  [17, 20],
  [5, 1],
]);
/** Both signs, and sequences of unequal weight: a server that normalises by weights would show. */
const slopes = sequences.map(({ responseIds }, n) =>
  Float32Array.from(responseIds, (id, t) => (((id + 3 * t) % 7) - 3) * 0.02 * (n + 1)),
);

/** Largest difference of the trained values, and the L2 norm of all differences over that of the moves. */
function compare(ours: AdapterFile, theirs: AdapterFile, from: AdapterFile) {
  let [most, apart, moved] = [0, 0, 0];
  for (const [name, { values }] of theirs.tensors) {
    const [a, b] = [ours.tensors.get(name)!.values, from.tensors.get(name)!.values];
    values.forEach((value, i) => {
      most = Math.max(most, Math.abs(value - a[i]!));
      apart += (value - a[i]!) ** 2;
      moved += (a[i]! - b[i]!) ** 2;
    });
  }
  return { most, relative: Math.sqrt(apart / moved) };
}

describeWithSkyrl('SkyRL and this repository compute the same', () => {
  describe.each(['qwen3-tiny', 'llama-tiny', CLAW_NANO] as const)('%s', (name) => {
    const on = skyrlForSuite(name, { adapters: 2 });
    let local: LocalModel;
    beforeAll(async () => {
      local = await openLocalModel(on.model);
    });
    afterAll(() => local?.close());

    const addSlopes = async (model: RemoteModel) => {
      const current = await model.forward(sequences);
      await model.addGradient(
        sequences,
        { sampled: slopes },
        { current, sequencesUntilStep: sequences.length },
      );
    };

    test('log-probs agree within 1e-4 nats, of the base and of a trained adapter', async () => {
      const model = await (await on.session()).createModel({ rank: 8, seed: 3 });
      const ofBase = worst(await model.forward(sequences), local.score(undefined, sequences));
      await addSlopes(model);
      await model.optimizerStep({ ...adam, learningRate: 1e-2 });
      const adapter = await adapterOf(await model.downloadAdapter('trained'));
      const after = await model.forward(sequences);
      const ofAdapter = worst(after, local.score(adapter, sequences));
      console.log(`${name}: log-probs differ by ${ofBase} (base), ${ofAdapter} (trained) nats`);
      expect(worst(after, local.score(undefined, sequences))).toBeGreaterThan(1e-2);
      expect(Math.max(ofBase, ofAdapter)).toBeLessThan(1e-4);
    });

    test('a step moves the adapter as the optimizer here does, and reports the norm of the gradient', async () => {
      const model = await (await on.session()).createModel({ rank: 8, seed: 3 });
      // Without momentum the second step depends on its own gradient alone. It starts where B is not 0.
      const plain = { ...adam, learningRate: 1e-2, beta1: 0, beta2: 0, epsilon: 1e-2, weightDecay: 0.01 };
      await addSlopes(model);
      await model.optimizerStep(plain);
      const before = await adapterOf(await model.downloadAdapter('before'));
      await addSlopes(model);
      const { gradientNorm } = await model.optimizerStep(plain);
      const after = await adapterOf(await model.downloadAdapter('after'));

      const { gradients, norm } = tiedGradients(before, local.gradients(before, sequences, slopes));
      const mine = new Map(
        [...before.tensors].map(([key, tensor]) => [key, { ...tensor, values: tensor.values.slice() }]),
      );
      const parameters = new Map([...mine].map(([key, { values }]) => [key, values]));
      createAdamW(plain).step(parameters, gradients, emptyAdamWState());
      const { most, relative } = compare({ ...before, tensors: mine }, after, before);
      console.log(
        `${name}: adapters differ by ${most}, the update by ${relative}; norms ${gradientNorm}, ${norm}`,
      );
      expect(relative).toBeLessThan(1e-3);
      expect(most).toBeLessThan(1e-5);
      expect(gradientNorm! / norm).toBeCloseTo(1, 4);
    });

    test('two calls before a step add up to the gradient of one', async () => {
      const session = await on.session();
      const [once, twice] = [
        await session.createModel({ rank: 8, seed: 3 }),
        await session.createModel({ rank: 8, seed: 3 }),
      ];
      const current = await once.forward(sequences);
      const sequencesUntilStep = sequences.length;
      await once.addGradient(sequences, { sampled: slopes }, { current, sequencesUntilStep });
      for (const part of [
        [0, 1],
        [2, 3],
      ])
        await twice.addGradient(
          part.map((n) => sequences[n]!),
          { sampled: part.map((n) => slopes[n]!) },
          { current: part.map((n) => current[n]!), sequencesUntilStep },
        );
      const norms = [await once.optimizerStep(adam), await twice.optimizerStep(adam)];
      expect(norms[0]!.gradientNorm! / norms[1]!.gradientNorm!).toBeCloseTo(1, 5);
    });
  });
});
