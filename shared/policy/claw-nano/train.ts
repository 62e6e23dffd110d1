import { type AdamWSettings, createAdamW, emptyAdamWState } from '../adamw.ts';
import type { Policy } from '../policy.ts';
import { crossEntropyAndGradients } from '../pretraining.ts';
import { createRandom } from '../random.ts';
import { type PolicySequence, scoreResponses } from '../scoring.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { encodeDialogue, trainingBatches } from './batches.ts';
import { generateDialogue } from './dialogues/dialogue.ts';
import type { CurvePoint } from './training-curve.ts';

export type TrainingOptions = {
  readonly seed: string;
  /** Tokens to see, padding left out. */
  readonly tokens: number;
  readonly tokensPerBatch: number;
  readonly peakLearningRate: number;
  /** Tokens over which the learning rate rises from 0. */
  readonly warmUpTokens: number;
  readonly paddingId: number;
  /** Steps between two points of the curve. */
  readonly curveEvery: number;
  /** Dialogues that the held-out loss is measured on. */
  readonly heldOutDialogues: number;
};

export type TrainingProgress = CurvePoint & {
  readonly learningRate: number;
  readonly gradientNorm: number;
  /** Mean since the start, seen per second. */
  readonly tokensPerSecond: number;
};

const optimiser: Omit<AdamWSettings, 'learningRate'> = {
  beta1: 0.9,
  beta2: 0.98,
  weightDecay: 0.05,
  maxGradientNorm: 1,
  decays: (name) => !name.endsWith('norm.weight'),
};

/** Linear warm-up, then a cosine down to a fiftieth of the peak. */
export function learningRateAt(seen: number, options: TrainingOptions): number {
  const { peakLearningRate, warmUpTokens, tokens } = options;
  if (seen < warmUpTokens) return (peakLearningRate * (seen + 1)) / warmUpTokens;
  const done = Math.min(1, (seen - warmUpTokens) / (tokens - warmUpTokens));
  return peakLearningRate * (0.02 + 0.98 * 0.5 * (1 + Math.cos(Math.PI * done)));
}

/**
 * Trains every weight, in place, on dialogues that are made on the way, each seen once. Yields a point of the
 * curve now and then; between two steps the caller may stop. The same options on the same machine and backend
 * with the same number of threads give the same weights.
 */
export function* train(
  policy: Policy,
  weights: ReadonlyMap<string, Float32Array>,
  tokenizer: Tokenizer,
  options: TrainingOptions,
): Generator<TrainingProgress | undefined> {
  const { seed, tokens, tokensPerBatch, peakLearningRate, paddingId, curveEvery } = options;
  const adamW = createAdamW({ ...optimiser, learningRate: peakLearningRate });
  const state = emptyAdamWState();
  const heldOut = heldOutSequences(tokenizer, options);
  const shape = { tokensPerBatch, poolSize: 512, widthStep: 16, paddingId };
  const started = performance.now();
  let seen = 0;
  let since = { loss: 0, trained: 0 };
  for (const batch of trainingBatches(tokenizer, createRandom(`${seed}/dialogues`), shape)) {
    const learningRate = learningRateAt(seen, options);
    const { loss, gradients } = crossEntropyAndGradients(policy, batch);
    const { gradientNorm } = adamW.step(weights, gradients, state, learningRate);
    policy.replaceWeights(weights);
    seen += batch.seen;
    since = { loss: since.loss + loss * batch.trained, trained: since.trained + batch.trained };
    const done = seen >= tokens;
    if (done || state.step === 1 || state.step % curveEvery === 0) {
      yield {
        step: state.step,
        tokens: seen,
        trainingLoss: since.loss / since.trained,
        heldOutLoss: meanLoss(policy, heldOut),
        learningRate,
        gradientNorm,
        tokensPerSecond: (seen * 1000) / (performance.now() - started),
      };
      since = { loss: 0, trained: 0 };
    } else yield undefined;
    if (done) return;
  }
}

/** The last answers of dialogues from a stream of numbers that training does not use. */
function heldOutSequences(
  tokenizer: Tokenizer,
  { seed, heldOutDialogues }: TrainingOptions,
): readonly PolicySequence[] {
  const random = createRandom(`${seed}/held-out-loss`);
  return Array.from({ length: heldOutDialogues }, () => {
    const { ids, said } = encodeDialogue(tokenizer, generateDialogue(random));
    const end = said.lastIndexOf(1) + 1;
    const start = said.lastIndexOf(0, end - 1) + 1;
    return { promptIds: ids.slice(0, start), responseIds: ids.slice(start, end), temperature: 1 };
  });
}

/** Nats per token over all responses together. */
function meanLoss(policy: Policy, sequences: readonly PolicySequence[]): number {
  const logProbs = scoreResponses(policy, undefined, sequences).flatMap((each) => [...each]);
  return -logProbs.reduce((sum, logProb) => sum + logProb, 0) / logProbs.length;
}
