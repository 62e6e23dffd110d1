import { describe, expect, test } from 'vitest';
import { readAdapter } from '../checkpoints/adapter-files.ts';
import type { Policy } from '../model/policy.ts';
import { embed } from '../model/weights.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { readReference } from '../testing/reference-fixtures.ts';
import {
  logitTolerance,
  modelFolderOf,
  models,
  openReferenceModel,
  ResponseBatch,
  readModelReference,
  readTensors,
  sequencesOf,
  trainedModels,
} from '../testing/reference-model.ts';
import { gradientNorm } from './adamw.ts';
import type { PolicySequence } from './batching.ts';
import { type LossValue, lossAndGradients, type Trainable } from './training.ts';

/** Each token's share in the mean is known beforehand, as in a step that is made of parts. */
const share =
  (count: number) =>
  (logProbs: readonly Float32Array[]): LossValue => ({
    loss: -logProbs.reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0), 0) / count,
    metrics: {},
    gradient: logProbs.map((row) => row.map(() => -1 / count)),
  });

/**
 * Whole batch and the sum of its sequences, one by one, differ by no more than this share of the gradient's
 * norm: products of another shape sum in another order, and f32 has seven digits.
 */
const accumulationTolerance = 1e-6;

function expectPartsToAddUp(
  policy: Policy,
  trainable: Trainable,
  sequences: readonly PolicySequence[],
): void {
  const count = sequences.reduce((sum, { responseIds }) => sum + responseIds.length, 0);
  const whole = lossAndGradients(policy, trainable, sequences, { loss: share(count) });
  const parts = sequences.map((one) => lossAndGradients(policy, trainable, [one], { loss: share(count) }));
  const norm = gradientNorm(whole.gradients);
  expect(parts.reduce((sum, { loss }) => sum + loss, 0)).toBeCloseTo(whole.loss, 6);
  for (const [name, gradient] of whole.gradients) {
    const sum = Array.from(gradient, (_, i) =>
      parts.reduce((total, part) => total + part.gradients.get(name)![i]!, 0),
    );
    expect(largestDifference(gradient, sum), name).toBeLessThan(accumulationTolerance * norm);
  }
}

describe('a batch in several parts', () => {
  describeOnBackends('gradients', (open) => {
    test.each(trainedModels)(
      '%s: padded together or one by one, the gradients are the same',
      async (name) => {
        const policy = await openReferenceModel(name, await open());
        expectPartsToAddUp(
          policy,
          'full',
          sequencesOf(ResponseBatch.parse(readReference(`models/${name}/gradients/full.json`))),
        );
        const adapter = policy.loadAdapter(await readAdapter(`${modelFolderOf(name)}/lora`));
        expectPartsToAddUp(
          policy,
          adapter,
          sequencesOf(ResponseBatch.parse(readReference(`models/${name}/lora/reference.json`))),
        );
        adapter.dispose();
        policy.dispose();
      },
    );

    test.each(trainedModels)('%s: layers that are computed again give the same gradients', async (name) => {
      const policy = await openReferenceModel(name, await open());
      const sequences = sequencesOf(ResponseBatch.parse(readReference(`models/${name}/gradients/full.json`)));
      const adapter = policy.loadAdapter(await readAdapter(`${modelFolderOf(name)}/lora`));
      const tensors = policy.executor.tensorCount();
      for (const trainable of ['full', adapter] as const) {
        const gradientsOf = (recompute: boolean) =>
          lossAndGradients(policy, trainable, sequences, { loss: share(1), recompute }).gradients;
        const [kept, again] = [gradientsOf(false), gradientsOf(true)];
        expect([...again.keys()].sort()).toEqual([...kept.keys()].sort());
        const norm = gradientNorm(kept);
        for (const [parameter, gradient] of kept) {
          const difference = largestDifference(gradient, again.get(parameter)!);
          expect(difference, parameter).toBeLessThan(accumulationTolerance * norm);
        }
        expect(policy.executor.tensorCount()).toBe(tensors);
      }
      adapter.dispose();
      policy.dispose();
    });

    test.each(models)('%s: rows of the embedding', async (name) => {
      const policy = await openReferenceModel(name, await open());
      const { hidden, prompts } = readModelReference(name);
      const ids = Int32Array.from(prompts.find((prompt) => prompt.name === hidden.prompt)!.ids);
      const wanted = (await readTensors(name, 'reference.safetensors')).float32(
        `hidden.${hidden.prompt}.embedding`,
      );
      const { executor, model } = policy;
      executor.scope(() => {
        const rows = executor.read(embed(executor, model.weights, ids));
        expect(largestDifference(rows, wanted)).toBeLessThan(logitTolerance);
      });
      policy.dispose();
    });
  });
});
