import type { Checkpoint } from '../../../shared/policy/checkpoint.ts';
import type { Executor } from '../../../shared/policy/executors/executor.ts';
import {
  estimateMemory,
  type MemoryEstimate,
  type StepSize,
  servingPeak,
  trainingPeak,
} from '../../../shared/policy/memory-estimate.ts';
import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import { formatTable } from '../table.ts';

const MEGA = 1e6;
const inMegabytes = (bytes: number): string => `${(bytes / MEGA).toFixed(bytes < 10 * MEGA ? 1 : 0)} MB`;

/** Family, size and vocabulary of a model, a row each. */
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
    ['answers end with', ends.join(', ') || 'nothing: generation_config.json and config.json name no token'],
    ['sampling', advice.map(([name, value]) => `${name} ${value}`).join(', ') || 'no advice'],
  ];
}

/** What serving and training will need, with the sizes that it holds for: of an adapter, and of all weights. */
export function describeMemory(config: Checkpoint['config'], kind: Executor['kind'], size: StepSize): string {
  const kinds = (['lora', 'full'] as const).map((training) => estimateMemory(config, size, training));
  const both = (of: (estimate: MemoryEstimate) => number) =>
    kinds.map((estimate) => inMegabytes(of(estimate)));
  const { step } = kinds[0]!;
  const rows: readonly (readonly string[])[] = [
    ['weights of the base, in each process that computes', ...both(({ weights }) => weights)],
    [`a version: an adapter of rank ${size.rank}, or all weights`, ...both(({ version }) => version)],
    ['keys and values, per 1000 tokens of an answer with its prompt', ...both((one) => one.cachePerThousand)],
    [
      `activations of a step at ${size.tokens} tokens${step.recomputed ? ', computed again per layer' : ''}`,
      ...both((one) => one.step.activations),
    ],
    [
      `logits of a step, ${size.responseTokens} of the tokens being the answer`,
      ...both((one) => one.step.logits),
    ],
    ['gradients and two moments of what is trained', ...both((one) => one.step.optimizer)],
    ['its parent, and what is on its way to the backend and back', ...both((one) => one.step.copies)],
    ['serving at its peak, one answer of 1000 tokens while a version changes', ...both(servingPeak)],
    ['training at its peak', ...both(trainingPeak)],
  ];
  return formatTable([`memory on ${kind}, beyond an idle process`, '--training lora', 'full'], rows);
}
