import type { AdapterFile } from '../checkpoints/adapter-files.ts';
import type { Executor } from '../executors/executor.ts';
import { initialWeights } from '../model/initialise.ts';
import { createLora, type LoraSettings } from '../model/lora.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { loadPolicy, type Policy, weightsInMemory } from '../model/policy.ts';
import { createRandom, normal } from '../model/random.ts';

/** A policy whose logits differ by several nats: `factor` makes the matrices that much larger than new ones. */
export function decidedPolicy(
  executor: Executor,
  config: ModelConfig,
  seed: string,
  factor = 8,
): Promise<Policy> {
  const weights = [...initialWeights(config, seed)].map(
    ([name, values]) =>
      [name, name.includes('norm') ? values : values.map((value) => value * factor)] as const,
  );
  return loadPolicy(weightsInMemory(config, new Map(weights)), executor);
}

/** A random adapter that stands for a trained one: unlike a new adapter, it changes the policy. */
export function randomLora(config: ModelConfig, settings: LoraSettings, deviation: number): AdapterFile {
  const file = createLora(config, settings);
  const random = createRandom(settings.seed);
  for (const { values } of file.tensors.values()) values.set(values.map(() => deviation * normal(random)));
  return file;
}
