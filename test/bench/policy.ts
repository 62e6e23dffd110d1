import { createAdamW, emptyAdamWState } from '../../shared/policy/adamw.ts';
import { type BackendChoice, openBackend } from '../../shared/policy/backend.ts';
import { createDecoder } from '../../shared/policy/decoding.ts';
import type { Executor } from '../../shared/policy/executors/executor.ts';
import { nativeInstalled } from '../../shared/policy/executors/native.ts';
import { initialWeights } from '../../shared/policy/initialise.ts';
import { createLora } from '../../shared/policy/lora.ts';
import type { ModelConfig } from '../../shared/policy/model-config.ts';
import { loadPolicy, type Policy, weightsInMemory } from '../../shared/policy/policy.ts';
import { crossEntropyAndGradients, lossAndGradients } from '../../shared/policy/training.ts';

/** 1.75 million parameters in the shape of Qwen3: about the size of claw-nano. */
const config: ModelConfig = {
  family: 'qwen3',
  vocabularySize: 1024,
  hiddenSize: 160,
  layers: 5,
  heads: 5,
  keyValueHeads: 5,
  headSize: 32,
  intermediateSize: 448,
  maxPositions: 2048,
  ropeTheta: 10_000,
  ropeScaling: undefined,
  normEpsilon: 1e-6,
  tiedHead: true,
  attentionBias: false,
  queryKeyNorm: true,
};

export type PolicyMeasurement = {
  readonly backend: string;
  readonly what: string;
  readonly tokensPerSecond: number;
};

/** Median milliseconds of `repeats` calls after two that do not count. */
function medianMilliseconds(repeats: number, body: () => void): number {
  const times = Array.from({ length: repeats + 2 }, () => {
    const start = performance.now();
    body();
    return performance.now() - start;
  });
  return times.slice(2).sort((a, b) => a - b)[repeats >> 1]!;
}

const prompt = (length: number): number[] => Array.from({ length }, (_, i) => (i * 37) % 1000);

function measureDecode(policy: Policy, sequences: number): number {
  const adapter = policy.loadAdapter(createLora(config, { rank: 8, alpha: 16, seed: 1 }));
  const decoder = createDecoder(policy, adapter, { maxSequences: sequences, maxPositions: 512 });
  const slots = Array.from({ length: sequences }, () => decoder.admit(prompt(128)).slot);
  const time = medianMilliseconds(40, () => decoder.step(slots.map((slot) => ({ slot, id: 7 }))));
  decoder.dispose();
  adapter.dispose();
  return (sequences / time) * 1000;
}

function measurePrefill(policy: Policy, length: number): number {
  const decoder = createDecoder(policy, undefined, { maxSequences: 1, maxPositions: length });
  const time = medianMilliseconds(3, () => decoder.release(decoder.admit(prompt(length)).slot));
  return (length / time) * 1000;
}

/** One training step of an adapter as the trainer does it: four sequences of 160 + 96 tokens. */
function measureLora(policy: Policy): number {
  const file = createLora(config, { rank: 8, alpha: 16, seed: 1 });
  const values = new Map([...file.tensors].map(([name, tensor]) => [name, tensor.values]));
  const adamw = createAdamW({ learningRate: 1e-3, maxGradientNorm: 1 });
  const state = emptyAdamWState();
  const sequences = Array.from({ length: 4 }, () => ({ promptIds: prompt(160), responseIds: prompt(96) }));
  const time = medianMilliseconds(3, () => {
    const adapter = policy.loadAdapter(file);
    const { gradients } = lossAndGradients(policy, adapter, sequences, (logProbs) => ({
      loss: 0,
      metrics: {},
      gradient: logProbs.map((row) => row.map(() => -1 / row.length)),
    }));
    adapter.dispose();
    adamw.step(values, gradients, state);
  });
  return ((4 * 256) / time) * 1000;
}

function measurePretraining(policy: Policy, weights: Map<string, Float32Array>, batch: number): number {
  const adamw = createAdamW({ learningRate: 1e-3, weightDecay: 0.1, maxGradientNorm: 1 });
  const state = emptyAdamWState();
  const tokens = Int32Array.from(prompt(batch * 257));
  const time = medianMilliseconds(3, () => {
    adamw.step(weights, crossEntropyAndGradients(policy, { tokens, batch, positions: 256 }).gradients, state);
    policy.replaceWeights(weights);
  });
  return ((batch * 256) / time) * 1000;
}

async function measure(executor: Executor): Promise<readonly PolicyMeasurement[]> {
  const weights = initialWeights(config, 'bench');
  const policy = await loadPolicy(weightsInMemory(config, weights), executor);
  const entry = (what: string, tokensPerSecond: number) => ({
    backend: executor.kind,
    what,
    tokensPerSecond,
  });
  const measurements = [
    ...[1, 4, 16].map((n) => entry(`decode, LoRA, ${n} at a time`, measureDecode(policy, n))),
    ...[128, 1024].map((n) => entry(`prefill, ${n} tokens`, measurePrefill(policy, n))),
    entry('LoRA training step, 4 x 256', measureLora(policy)),
    ...[executor.kind === 'native' ? 16 : 4].map((n) =>
      entry(`full training step, ${n} x 256`, measurePretraining(policy, weights, n)),
    ),
  ];
  policy.dispose();
  return measurements;
}

/**
 * Training and decoding speed of a claw-nano-sized policy on each backend that is installed; prints a table.
 */
export async function benchPolicy(): Promise<readonly PolicyMeasurement[]> {
  const choices: BackendChoice[] = nativeInstalled() ? ['native', 'wasm'] : ['wasm'];
  const all: PolicyMeasurement[] = [];
  for (const choice of choices) {
    const executor = await openBackend(choice);
    console.log(executor.report);
    all.push(...(await measure(executor)));
  }
  console.table(
    all.map(({ tokensPerSecond, ...rest }) => ({ ...rest, 'tok/s': Math.round(tokensPerSecond) })),
  );
  return all;
}

if (import.meta.main) await benchPolicy();
