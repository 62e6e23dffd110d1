import type { Checkpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import type { Executor } from '../../../shared/policy/executors/executor.ts';
import {
  estimateMemory,
  type MemoryEstimate,
  type StepSize,
  servingPeak,
  trainingPeak,
} from '../../../shared/policy/model/memory-estimate.ts';
import type { Tokenizer } from '../../../shared/policy/text/tokenizer.ts';
import { megabytes } from '../../../shared/runtime/megabytes.ts';
import { formatTable } from '../../../shared/runtime/table.ts';

const MEGA = 1e6;

/** Table rows that describe a model: family, size, vocabulary and so on. */
export function describeModel(
  { folder, config, generationConfig, names, shape }: Checkpoint,
  tokenizer: Tokenizer,
): readonly (readonly [string, string])[] {
  const count = names.reduce((sum, name) => sum + shape(name).reduce((all, size) => all * size, 1), 0);
  const { family, layers, hiddenSize, heads, keyValueHeads, headSize, maxPositions, ropeScaling } = config;
  const { temperature, topP, topK, eosTokenIds } = generationConfig;
  const advice = Object.entries({ temperature, top_p: topP, top_k: topK }).filter(
    ([, value]) => value != null,
  );
  const ends = eosTokenIds.map((id) => `${JSON.stringify(tokenizer.decode([id]))} (${id})`);
  return [
    ['folder', folder],
    ['family', family],
    ['size', `${(count / MEGA).toFixed(1)} million weights`],
    [
      'layers',
      `${layers} of ${hiddenSize}, ${heads} heads of ${headSize}, ${keyValueHeads} for keys and values` +
        `${config.tiedHead ? '; head tied to the embedding' : ''}`,
    ],
    [
      'context',
      `${maxPositions} tokens${ropeScaling === undefined ? '' : `, RoPE scaled ${ropeScaling.type}`}`,
    ],
    ['vocabulary', `${tokenizer.vocabularySize} tokens in ${config.vocabularySize} rows`],
    [
      'answers end with',
      ends.join(', ') || 'no token: neither generation_config.json nor config.json names one',
    ],
    [
      'recommended sampling',
      advice.map(([name, value]) => `${name} ${value}`).join(', ') || 'no recommendation',
    ],
  ];
}

/** Memory estimates for serving and training, for an adapter and for all weights. */
export function describeMemory(config: Checkpoint['config'], kind: Executor['kind'], size: StepSize): string {
  const kinds = (['lora', 'full'] as const).map((training) => estimateMemory(config, size, training));
  const both = (of: (estimate: MemoryEstimate) => number) => kinds.map((estimate) => megabytes(of(estimate)));
  const { step } = kinds[0]!;
  const rows: readonly (readonly string[])[] = [
    ['base weights, in serving and in the trainer', ...both(({ weights }) => weights)],
    [`one version: an adapter of rank ${size.rank}, or all weights`, ...both(({ version }) => version)],
    [
      'keys and values, per 1000 tokens of prompt and answer',
      ...both((estimate) => estimate.cachePerThousand),
    ],
    [
      `activations of a step at ${size.tokens} tokens${step.recomputed ? ', recomputed per layer' : ''}`,
      ...both((estimate) => estimate.step.activations),
    ],
    [
      `logits of a step with ${size.responseTokens} answer tokens`,
      ...both((estimate) => estimate.step.logits),
    ],
    ['gradients and two optimizer moments', ...both((estimate) => estimate.step.optimizer)],
    ['parent version, and copies to and from the backend', ...both((estimate) => estimate.step.copies)],
    ['serving at its peak: one answer of 1000 tokens during a version change', ...both(servingPeak)],
    ['training at its peak', ...both(trainingPeak)],
  ];
  return formatTable([`memory on ${kind}, on top of an idle process`, '--training lora', 'full'], rows);
}
