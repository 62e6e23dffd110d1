import type { TrainedWeights } from '../../../shared/policy/checkpoints/full-weights.ts';
import { topIds } from '../../../shared/policy/losses/distribution.ts';
import { createRandom } from '../../../shared/policy/model/random.ts';
import { binLogProbs, logSoftmax } from '../../../shared/policy/testing/distribution.ts';
import { hintMarker } from '../../../shared/policy/text/hint.ts';
import type { PolicySequence } from '../../../shared/policy/train/batching.ts';
import type { TokenDistributions } from '../../../shared/policy/train/token-distributions.ts';
import type { LearningEngine, LogProbs } from '../learning-engine.ts';

/**
 * For tests: a policy that depends only on whether its prompt contains a hint. logits = alpha / rank * B A, so
 * all its numbers can be calculated by hand. A hint always adds the same logits.
 */
export const TOY_VOCABULARY = 5;
export const HINT_LOGITS = [0.8, -0.6, 0.4, -1, 0.2] as const;
/** A hint with these words adds other logits, with other most likely tokens. */
export const ODD_HINT = 'an odd hint';
const ODD_LOGITS = [-2, -2, -2, 2, 3] as const;

/** The last token of a prompt with a hint, and the logits that it adds. */
const hintTokens = new Map<number, readonly number[]>([
  [9, HINT_LOGITS],
  [8, ODD_LOGITS],
]);

const names = ['A', 'B'].map((side) => `base_model.model.model.layers.0.mlp.up_proj.lora_${side}.weight`);
const [nameA, nameB] = names as [string, string];

/** The toy can only train an adapter. */
function configOf(file: TrainedWeights) {
  if (file.kind !== 'lora') throw new Error('the toy has no weights of its own');
  return file.config;
}

function logits(file: TrainedWeights | undefined): Float64Array {
  const result = new Float64Array(TOY_VOCABULARY);
  if (file === undefined) return result;
  const { rank, alpha } = configOf(file);
  const [a, b] = [file.tensors.get(nameA)!.values, file.tensors.get(nameB)!.values];
  for (let id = 0; id < TOY_VOCABULARY; id++)
    for (let r = 0; r < rank; r++) result[id]! += (b[id * rank + r]! * a[r]! * alpha) / rank;
  return result;
}

/** log-probabilities of every token id */
export function toyLogProbs(
  file: TrainedWeights | undefined,
  temperature = 1,
  hint?: readonly number[],
): Float64Array {
  const scaled = logits(file).map((logit, id) => (logit + (hint?.[id] ?? 0)) / temperature);
  const normalizer = Math.log(scaled.reduce((sum, logit) => sum + Math.exp(logit), 0));
  return scaled.map((logit) => logit - normalizer);
}

const policyOf = (file: TrainedWeights | undefined, { promptIds, temperature }: PolicySequence) =>
  toyLogProbs(file, temperature, hintTokens.get(promptIds.at(-1)!));

const scoreToy = (file: TrainedWeights | undefined, sequences: readonly PolicySequence[]): LogProbs =>
  sequences.map((sequence) => {
    const all = policyOf(file, sequence);
    return Float32Array.from(sequence.responseIds, (id) => all[id]!);
  });

const distributionsOfToy: LearningEngine['distributions'] = (
  file,
  sequences,
  { count, requested, anchor = 0 },
) =>
  sequences.map((sequence, index): TokenDistributions => {
    const [own, base] = [policyOf(file, sequence), policyOf(undefined, sequence)];
    const all = logSoftmax(own.map((logProb, id) => (1 - anchor) * logProb + anchor * base[id]!));
    const { responseIds } = sequence;
    const ids = topIds(all, count);
    const bins = binLogProbs(all, ids);
    return {
      sampled: Float32Array.from(responseIds, (id) => all[id]!),
      topIds: Int32Array.from(responseIds.flatMap(() => ids)),
      top: Float32Array.from(responseIds.flatMap(() => [...bins.subarray(0, count)])),
      rest: Float32Array.from(responseIds, () => bins[count]!),
      requested: Float32Array.from(requested?.[index] ?? [], (id) => all[id]!),
    };
  });

export const toyEngine: LearningEngine = {
  // as in sampleData, independent of the words
  writePrompt: ({ messages }) => {
    const words = JSON.stringify(messages);
    if (!words.includes(hintMarker)) return [1, 2, 3];
    return [1, 2, 3, words.includes(ODD_HINT) ? 8 : 9];
  },
  contextTokens: 64,
  prepare: async () => ({ teacherDigest: undefined }),
  scoreByTeacher: (_, sequences) => scoreToy(undefined, sequences),
  distributionsByTeacher: (_, sequences, request) => distributionsOfToy(undefined, sequences, request),
  createAdapter: ({ rank, alpha, seed }) => {
    const random = createRandom(seed);
    const a = Float32Array.from({ length: rank }, () => 2 * random() - 1);
    return {
      kind: 'lora',
      config: { rank, alpha, targets: ['up_proj'] },
      tensors: new Map([
        [nameA, { shape: [rank, 1], values: a }],
        [nameB, { shape: [TOY_VOCABULARY, rank], values: new Float32Array(TOY_VOCABULARY * rank) }],
      ]),
    };
  },
  // one sequence per part, so that the step must add parts up
  parts: (sequences) => sequences.map((_, index) => [index]),
  score: scoreToy,
  distributions: distributionsOfToy,
  gradients: (file, sequences, byLogProbs, candidates) => {
    const { rank, alpha } = configOf(file);
    const [a, b] = [file.tensors.get(nameA)!.values, file.tensors.get(nameB)!.values];
    const byLogits = new Float64Array(TOY_VOCABULARY);
    const { count, ids } = candidates ?? { count: 0, ids: [] };
    const made = sequences.map((sequence, n) => {
      const [own, all] = [ids[n], policyOf(file, sequence)];
      if (own === undefined) return undefined;
      const bins = sequence.responseIds.map((_, t) =>
        binLogProbs(all, [...own.subarray(t * count, (t + 1) * count)]),
      );
      return {
        logProbs: Float32Array.from(own, (id) => all[id]!),
        rest: Float32Array.from(bins, (bin) => bin[count]!),
      };
    });
    const slopes = byLogProbs(scoreToy(file, sequences), made);
    sequences.forEach((sequence, n) => {
      const { responseIds, temperature = 1 } = sequence;
      const p = policyOf(file, sequence).map(Math.exp);
      const add = (chosen: number, slope: number) => {
        for (let id = 0; id < TOY_VOCABULARY; id++)
          byLogits[id]! += (slope * (Number(id === chosen) - p[id]!)) / temperature;
      };
      responseIds.forEach((chosen, t) => {
        add(chosen, slopes.sampled[n]![t]!);
        for (let j = t * count; j < (t + 1) * count; j++)
          if (ids[n] !== undefined) add(ids[n][j]!, slopes.candidates![n]![j]!);
      });
    });
    const scale = alpha / rank;
    const da = a.map((_, r) => byLogits.reduce((sum, g, id) => sum + g * b[id * rank + r]! * scale, 0));
    const db = b.map((_, index) => byLogits[Math.floor(index / rank)]! * a[index % rank]! * scale);
    return new Map([
      [nameA, da],
      [nameB, db],
    ]);
  },
  meanKl: (candidate, parent) => {
    const [p, q] = [toyLogProbs(candidate), toyLogProbs(parent)];
    return p.reduce((sum, logP, id) => sum + Math.exp(logP) * (logP - q[id]!), 0);
  },
};

/** Samples a token of the toy by its log-probs. */
export function drawToken(logProbs: Float64Array, random: () => number): number {
  let left = random();
  for (let id = 0; id < TOY_VOCABULARY; id++) {
    left -= Math.exp(logProbs[id]!);
    if (left < 0) return id;
  }
  return TOY_VOCABULARY - 1;
}

/** KL(p || q) of two distributions over the toy's tokens, nats. */
export const klDivergence = (p: Float64Array, q: Float64Array): number =>
  p.reduce((sum, logP, id) => sum + Math.exp(logP) * (logP - q[id]!), 0);
