import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readAdapter } from '../checkpoints/adapter-files.ts';
import { openCheckpoint } from '../checkpoints/checkpoint.ts';
import { rmsNorm } from '../ops/rms-norm.ts';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { readReference } from '../testing/reference-fixtures.ts';
import {
  modelFolderOf,
  models,
  openReferenceModel,
  ResponseBatch,
  readModelReference,
  readTensors,
  sequencesOf,
  trainedModels,
} from '../testing/reference-model.ts';
import { createAdamW, emptyAdamWState } from '../train/adamw.ts';
import { scoreResponses } from '../train/scoring.ts';
import { type LossValue, lossAndGradients } from '../train/training.ts';
import { weightShapes } from './layout.ts';
import { logitsOf, residualStream, sequenceContext } from './model.ts';
import { loadPolicy, networkOf, type Policy, weightsInMemory } from './policy.ts';

/**
 * Absolute tolerances: ten to twenty times the noise of f32 that was measured when the references were made.
 */
const tolerance = { logits: 2e-4, logProbs: 1e-4, loss: 1e-5, gradient: 3e-5, norm: 1e-5, loraWeights: 3e-6 };

const Ids = z.array(z.int());
const Gradients = ResponseBatch.extend({ loss_float64: z.number(), global_norm: z.number() });
const LoraReference = Gradients.extend({ ids: Ids });
const Step = z.looseObject({ batch: z.int(), loss_float64: z.number(), total_norm_float64: z.number() });
const AdamWReference = z.looseObject({
  settings: z.object({
    lr: z.number(),
    betas: z.tuple([z.number(), z.number()]),
    eps: z.number(),
    weight_decay: z.number(),
    max_norm: z.number(),
  }),
  batches: z.array(ResponseBatch),
  lora: z.array(Step),
  full: z.array(Step),
});

/** Logits of every position of padded sequences: [batch * positions, vocabulary]. */
function allLogits(
  policy: Policy,
  ids: readonly number[],
  batch = 1,
  adapter?: ReturnType<Policy['loadAdapter']>,
): Float32Array {
  const { executor } = policy;
  const { model, network } = networkOf(policy, adapter);
  return executor.scope(() => {
    const context = sequenceContext(executor, model, {
      batch,
      positions: ids.length / batch,
      backward: false,
    });
    const x = residualStream(executor, network, { ids: Int32Array.from(ids), context });
    return executor.read(logitsOf(executor, network, x));
  });
}

/** Cross entropy, the mean over all response tokens. */
function tokenMean(logProbs: readonly Float32Array[]): LossValue {
  const count = logProbs.reduce((sum, { length }) => sum + length, 0);
  const total = logProbs.reduce((sum, values) => sum + values.reduce((a, b) => a + b, 0), 0);
  return {
    loss: -total / count,
    metrics: {},
    gradient: logProbs.map((values) => values.map(() => -1 / count)),
  };
}

const norm = (gradients: ReadonlyMap<string, Float32Array>): number =>
  Math.sqrt([...gradients.values()].reduce((sum, g) => sum + g.reduce((a, b) => a + b * b, 0), 0));

describe('the model equals the reference', () => {
  describeOnBackends('model', (backend) => {
    test.each(models)('%s: logits and log-probs', async (name) => {
      const policy = await openReferenceModel(name, await backend());
      const reference = readModelReference(name);
      const file = await readTensors(name, 'reference.safetensors');
      for (const prompt of reference.prompts) {
        const logits = allLogits(policy, prompt.ids);
        const from = prompt.logits_from_position * policy.config.vocabularySize;
        expect(largestDifference(logits.subarray(from), file.float32(prompt.logits))).toBeLessThan(
          tolerance.logits,
        );
        for (const [temperature, logProbs] of Object.entries(prompt.log_probs)) {
          const [first, ...rest] = prompt.ids;
          const sequence = { promptIds: [first!], responseIds: rest, temperature: Number(temperature) };
          const [scored] = scoreResponses(policy, undefined, [sequence]);
          expect(largestDifference(scored!, logProbs)).toBeLessThan(tolerance.logProbs);
        }
      }
      const { input_ids, attention_mask } = reference.batch_right;
      const padded = allLogits(policy, input_ids.flat(), input_ids.length);
      const real = padded.map(
        (value, i) => value * attention_mask.flat()[Math.floor(i / policy.config.vocabularySize)]!,
      );
      expect(largestDifference(real, file.float32('logits.batch_right'))).toBeLessThan(tolerance.logits);
      policy.dispose();
    });

    test.each(models)('%s: the residual stream after every layer', async (name) => {
      const policy = await openReferenceModel(name, await backend());
      const { executor } = policy;
      const { model, network } = networkOf(policy, undefined);
      const { hidden, prompts } = readModelReference(name);
      const file = await readTensors(name, 'reference.safetensors');
      const ids = Int32Array.from(prompts.find((prompt) => prompt.name === hidden.prompt)!.ids);
      executor.scope(() => {
        const context = sequenceContext(executor, model, {
          batch: 1,
          positions: ids.length,
          backward: false,
        });
        const x = residualStream(executor, network, { ids, context }, (layer, _, output) => {
          const wanted = file.float32(`hidden.${hidden.prompt}.layer${layer}`);
          expect(largestDifference(executor.read(output), wanted)).toBeLessThan(tolerance.logits);
        });
        const { output } = rmsNorm(executor, x, model.weights.finalNorm, model.config.normEpsilon);
        expect(
          largestDifference(executor.read(output), file.float32(`hidden.${hidden.prompt}.norm`)),
        ).toBeLessThan(tolerance.logits);
      });
      policy.dispose();
    });

    test.each(trainedModels)('%s: the gradient of every weight', async (name) => {
      const policy = await openReferenceModel(name, await backend());
      const reference = Gradients.parse(readReference(`models/${name}/gradients/full.json`));
      const file = await readTensors(name, 'gradients/full.safetensors');
      const { loss, gradients } = lossAndGradients(policy, 'full', sequencesOf(reference), {
        loss: tokenMean,
      });
      expect(Math.abs(loss - reference.loss_float64)).toBeLessThan(tolerance.loss);
      expect([...gradients.keys()].sort()).toEqual(file.names);
      for (const [weight, gradient] of gradients) {
        expect(largestDifference(gradient, file.float32(weight)), weight).toBeLessThan(tolerance.gradient);
      }
      expect(norm(gradients) / reference.global_norm).toBeCloseTo(1, 5);
      policy.dispose();
    });

    test.each(trainedModels)('%s: logits and gradients with an adapter', async (name) => {
      const policy = await openReferenceModel(name, await backend());
      const lora = await readAdapter(`${modelFolderOf(name)}/lora`);
      const adapter = policy.loadAdapter(lora);
      const reference = LoraReference.parse(readReference(`models/${name}/lora/reference.json`));
      const file = await readTensors(name, 'lora/reference.safetensors');
      const logits = allLogits(policy, reference.ids, 1, adapter);
      expect(largestDifference(logits, file.float32('logits.p33'))).toBeLessThan(tolerance.logits);
      const { loss, gradients } = lossAndGradients(policy, adapter, sequencesOf(reference), {
        loss: tokenMean,
      });
      expect(Math.abs(loss - reference.loss_float64)).toBeLessThan(tolerance.loss);
      expect(gradients.size).toBe(lora.tensors.size);
      for (const [parameter, gradient] of gradients) {
        const wanted = file.float32(`grad.${parameter}`);
        expect(largestDifference(gradient, wanted), parameter).toBeLessThan(tolerance.gradient);
      }
      adapter.dispose();
      policy.dispose();
    });

    test('qwen3-tiny: three steps of AdamW on an adapter, one on every weight', async () => {
      const executor = await backend();
      const checkpoint = await openCheckpoint(modelFolderOf('qwen3-tiny'));
      const policy = await loadPolicy(checkpoint, executor);
      const { settings, batches, ...steps } = AdamWReference.parse(
        readReference('models/qwen3-tiny/adamw/adamw.json'),
      );
      const adamw = createAdamW({
        learningRate: settings.lr,
        beta1: settings.betas[0],
        beta2: settings.betas[1],
        epsilon: settings.eps,
        weightDecay: settings.weight_decay,
        maxGradientNorm: settings.max_norm,
      });
      const expectStep = (step: z.infer<typeof Step>, loss: number, gradientNorm: number): void => {
        expect(Math.abs(loss - step.loss_float64)).toBeLessThan(tolerance.loss);
        expect(Math.abs(gradientNorm / step.total_norm_float64 - 1)).toBeLessThan(tolerance.norm);
      };

      const lora = await readAdapter(`${modelFolderOf('qwen3-tiny')}/lora`);
      const parameters = new Map([...lora.tensors].map(([name, { values }]) => [name, values]));
      const state = emptyAdamWState();
      /** Where a gradient is next to nothing, Adam's step is its sign: rounding decides. */
      const faint = new Set<string>();
      const faintTolerance = executor.kind === 'native' ? 2e-5 : tolerance.loraWeights;
      const noteFaint = (gradients: ReadonlyMap<string, Float32Array>, gradientNorm: number): void => {
        const scale = Math.min(1, settings.max_norm / gradientNorm);
        for (const [name, gradient] of gradients)
          gradient.forEach((value, i) => {
            if (Math.abs(value * scale) <= 1e-6) faint.add(`${name} ${i}`);
          });
      };
      const after = await readTensors('qwen3-tiny', 'adamw/lora.safetensors');
      for (const [index, step] of steps.lora.entries()) {
        const adapter = policy.loadAdapter(lora);
        const { loss, gradients } = lossAndGradients(policy, adapter, sequencesOf(batches[step.batch]!), {
          loss: tokenMean,
        });
        adapter.dispose();
        const { gradientNorm } = adamw.step(parameters, gradients, state);
        expectStep(step, loss, gradientNorm);
        noteFaint(gradients, gradientNorm);
        for (const [name, values] of parameters) {
          const wanted = after.float32(`lora.step${index + 1}.${name}`);
          const clear = values.map((value, i) => (faint.has(`${name} ${i}`) ? wanted[i]! : value));
          expect(largestDifference(clear, wanted), name).toBeLessThan(tolerance.loraWeights);
          expect(largestDifference(values, wanted), name).toBeLessThan(faintTolerance);
        }
      }
      expect(faint.size).toBeLessThan(20);
      for (const name of parameters.keys()) {
        expect(largestDifference(state.first.get(name)!, after.float32(`lora.exp_avg.${name}`))).toBeLessThan(
          3e-6,
        );
        expect(
          largestDifference(state.second.get(name)!, after.float32(`lora.exp_avg_sq.${name}`)),
        ).toBeLessThan(3e-6);
      }

      const weights = new Map(
        [...weightShapes(policy.config).keys()].map((name) => [name, checkpoint.float32(name)]),
      );
      const fullPolicy = await loadPolicy(weightsInMemory(policy.config, weights), executor);
      const [step] = steps.full;
      const { loss, gradients } = lossAndGradients(fullPolicy, 'full', sequencesOf(batches[step!.batch]!), {
        loss: tokenMean,
      });
      const { gradientNorm } = adamw.step(weights, gradients, emptyAdamWState());
      expectStep(step!, loss, gradientNorm);
      const fullAfter = await readTensors('qwen3-tiny', 'adamw/full.safetensors');
      const scale = Math.min(1, settings.max_norm / gradientNorm);
      for (const [name, values] of weights) {
        const wanted = fullAfter.float32(`full.step1.${name}`);
        const gradient = gradients.get(name)!;
        // Where a gradient is next to nothing, Adam's first step is its sign: rounding decides.
        const off = values.findIndex(
          (value, i) => Math.abs(value - wanted[i]!) > (Math.abs(gradient[i]! * scale) > 1e-6 ? 2e-6 : 1e-3),
        );
        expect(off, name).toBe(-1);
      }
      fullPolicy.dispose();
      policy.dispose();
    });
  });
});
