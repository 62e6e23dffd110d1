import type { PolicySequence } from '../../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../../shared/policy/full-weights.ts';
import { hintMarker } from '../../../shared/policy/hint.ts';
import { createRandom } from '../../../shared/policy/random.ts';
import type { LearningEngine, LogProbs } from '../learning-engine.ts';

/**
 * For tests: a policy that looks at nothing but whether its prompt holds a hint. logits = alpha / rank * B A,
 * so that all its numbers can be worked out by hand; a hint adds the same logits for ever.
 */
export const TOY_VOCABULARY = 5;
export const HINT_LOGITS = [0.8, -0.6, 0.4, -1, 0.2] as const;
const HINTED_PROMPT = 9;

const names = ['A', 'B'].map((side) => `base_model.model.model.layers.0.mlp.up_proj.lora_${side}.weight`);
const [nameA, nameB] = names as [string, string];

/** All that it knows how to train. */
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
export function toyLogProbs(file: TrainedWeights | undefined, temperature = 1, hinted = false): Float64Array {
  const scaled = logits(file).map((logit, id) => (logit + (hinted ? HINT_LOGITS[id]! : 0)) / temperature);
  const normalizer = Math.log(scaled.reduce((sum, logit) => sum + Math.exp(logit), 0));
  return scaled.map((logit) => logit - normalizer);
}

const scoreToy = (file: TrainedWeights | undefined, sequences: readonly PolicySequence[]): LogProbs =>
  sequences.map(({ promptIds, responseIds, temperature }) => {
    const all = toyLogProbs(file, temperature, promptIds.includes(HINTED_PROMPT));
    return Float32Array.from(responseIds, (id) => all[id]!);
  });

export const toyEngine: LearningEngine = {
  // as in sampleData, whatever the words are
  writePrompt: ({ messages }) =>
    JSON.stringify(messages).includes(hintMarker) ? [1, 2, 3, HINTED_PROMPT] : [1, 2, 3],
  contextTokens: 64,
  prepare: async () => ({ teacherDigest: undefined }),
  scoreByTeacher: (_, sequences) => scoreToy(undefined, sequences),
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
  // one sequence at a time: the step has to add parts up
  parts: (sequences) => sequences.map((_, index) => [index]),
  score: scoreToy,
  gradients: (file, sequences, byLogProbs) => {
    const { rank, alpha } = configOf(file);
    const [a, b] = [file.tensors.get(nameA)!.values, file.tensors.get(nameB)!.values];
    const byLogits = new Float64Array(TOY_VOCABULARY);
    byLogProbs(scoreToy(file, sequences)).forEach((row, n) => {
      const { responseIds, temperature = 1 } = sequences[n]!;
      const p = toyLogProbs(file, temperature).map(Math.exp);
      responseIds.forEach((chosen, t) => {
        for (let id = 0; id < TOY_VOCABULARY; id++)
          byLogits[id]! += (row[t]! * (Number(id === chosen) - p[id]!)) / temperature;
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
