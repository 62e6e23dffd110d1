import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAdapter, writeAdapter } from '../../shared/policy/checkpoints/adapter-files.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { type TrainedWeights, writeFullWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import { readSafetensors } from '../../shared/policy/checkpoints/safetensors.ts';
import { createDecoder } from '../../shared/policy/decode/decoding.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { createLora } from '../../shared/policy/model/lora.ts';
import type { Llama3RopeScaling, ModelConfig } from '../../shared/policy/model/model-config.ts';
import { loadPolicy, type Policy } from '../../shared/policy/model/policy.ts';
import { createAdamW, emptyAdamWState } from '../../shared/policy/train/adamw.ts';
import { lossAndGradients } from '../../shared/policy/train/training.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';
import { pythonWithPeft, run } from './python.ts';

const script = fileURLToPath(new URL('peft_logits.py', import.meta.url));

const small: ModelConfig = {
  ...randomModels['smollm2-135m'],
  vocabularySize: 1088,
  hiddenSize: 64,
  layers: 3,
  heads: 4,
  keyValueHeads: 2,
  headSize: 16,
  intermediateSize: 160,
  maxPositions: 512,
  normEpsilon: 1e-5,
};
const scaling: Llama3RopeScaling = {
  type: 'llama3',
  factor: 8,
  lowFrequencyFactor: 1,
  highFrequencyFactor: 4,
  originalPositions: 64,
};
const models: Readonly<Record<string, ModelConfig>> = {
  llama: { ...small, tiedHead: false },
  'llama 3 with scaled RoPE': { ...small, ropeScaling: scaling },
  qwen2: { ...small, family: 'qwen2', attentionBias: true },
  qwen3: { ...small, family: 'qwen3', headSize: 32, queryKeyNorm: true },
};

const ids = Array.from({ length: 96 }, (_, index) => 1 + ((index * 131) % 1000));
/** Largest difference of a logit; both sides compute in f32. */
const TOLERANCE = 2e-4;

let python = '';
let root = '';

beforeAll(async () => {
  python = pythonWithPeft();
  root = await mkdtemp(join(tmpdir(), 'interchange-'));
});
afterAll(() => rm(root, { recursive: true }));

describe.each(Object.entries(models))('%s', (name, config) => {
  const folder = () => join(root, name);
  const adapterFolder = (by: string) => join(root, `${name}-${by}`);
  const open = async (): Promise<Policy> => {
    await makeRandomModel(folder(), config, { dtype: 'F32' });
    return loadPolicy(await openCheckpoint(folder()), await openBackend('auto'));
  };

  test('an adapter that was trained here gives the same logits in PEFT', async () => {
    const policy = await open();
    const fresh = createLora(policy.config, { rank: 4, alpha: 8, seed: 1 });
    const { file, before, after } = trained(policy, fresh);
    expect(after).toBeLessThan(before);
    await writeAdapter(adapterFolder('ours'), file);
    await expectSameLogits(policy, file, await logitsByPeft('load', folder(), adapterFolder('ours')));
    policy.dispose();
  });

  test('all weights that were trained here give the same logits as a model in transformers', async () => {
    await makeRandomModel(folder(), config, { dtype: 'BF16' });
    const policy = await loadPolicy(await openCheckpoint(folder()), await openBackend('auto'));
    const { file, before, after } = trained(policy, policy.copyWeights());
    expect(after).toBeLessThan(before);
    await writeFullWeights(adapterFolder('whole'), file, folder());
    await expectSameLogits(policy, file, await logitsByPeft('none', adapterFolder('whole'), ''));
    policy.dispose();
  });

  test('an adapter that PEFT wrote gives the same logits here', async () => {
    const policy = await open();
    const theirs = await logitsByPeft('make', folder(), adapterFolder('theirs'));
    await expectSameLogits(policy, await readAdapter(adapterFolder('theirs')), theirs);
    policy.dispose();
  });
});

/**
 * Three steps of AdamW towards one answer, at a rate that leaves no factor near zero, and logits in their
 * range.
 */
function trained<Trained extends TrainedWeights>(
  policy: Policy,
  file: Trained,
): { readonly file: Trained; readonly before: number; readonly after: number } {
  const parameters = new Map([...file.tensors].map(([name, { values }]) => [name, values]));
  const adamw = createAdamW({ learningRate: file.kind === 'full' ? 1e-3 : 1e-2 });
  const state = emptyAdamWState();
  const sample = { promptIds: ids.slice(0, 16), responseIds: ids.slice(16, 48) };
  const losses = [0, 1, 2].map(() => {
    const adapter = policy.loadAdapter(file);
    const { loss, gradients } = lossAndGradients(policy, adapter, [sample], {
      loss: ([logProbs]) => ({
        loss: -logProbs!.reduce((sum, value) => sum + value, 0) / logProbs!.length,
        metrics: {},
        gradient: [logProbs!.map(() => -1 / logProbs!.length)],
      }),
    });
    adamw.step(parameters, gradients, state);
    adapter.dispose();
    return loss;
  });
  return { file, before: losses[0]!, after: losses[2]! };
}

async function logitsByPeft(
  action: 'load' | 'make' | 'none',
  model: string,
  adapter: string,
): Promise<Float32Array> {
  const out = `${adapter || model}.logits.safetensors`;
  run(python, [script, action, model, adapter, JSON.stringify(ids), out]);
  return (await readSafetensors(out)).float32('logits');
}

/** At the end of prompts of several lengths, all tokens' logits. */
async function expectSameLogits(policy: Policy, file: TrainedWeights, theirs: Float32Array): Promise<void> {
  const { vocabularySize } = policy.config;
  const adapter = policy.loadAdapter(file);
  const withAdapter = createDecoder(policy, adapter, { maxSequences: 1, maxPositions: 128 });
  const without = createDecoder(policy, undefined, { maxSequences: 1, maxPositions: 128 });
  for (const length of [1, 17, 64, 96]) {
    const expected = theirs.subarray((length - 1) * vocabularySize, length * vocabularySize);
    const { slot, logits } = withAdapter.admit(ids.slice(0, length));
    expect(largestDifference(logits, expected)).toBeLessThan(TOLERANCE);
    withAdapter.release(slot);
    const base = without.admit(ids.slice(0, length));
    expect(largestDifference(base.logits, expected)).toBeGreaterThan(10 * TOLERANCE);
    without.release(base.slot);
  }
  withAdapter.dispose();
  without.dispose();
  adapter.dispose();
}

const largestDifference = (a: Float32Array, b: Float32Array): number =>
  a.reduce((most, value, index) => Math.max(most, Math.abs(value - b[index]!)), 0);
