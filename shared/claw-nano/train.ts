import type { Policy } from '../policy/model/policy.ts';
import { createRandom } from '../policy/model/random.ts';
import type { Tokenizer } from '../policy/text/tokenizer.ts';
import { type AdamWSettings, createAdamW, emptyAdamWState } from '../policy/train/adamw.ts';
import { crossEntropyAndGradients } from '../policy/train/pretraining.ts';
import { type PolicySequence, scoreResponses } from '../policy/train/scoring.ts';
import { encodeMessages, type NextConversation, trainingBatches } from './batches.ts';
import type { CurvePoint } from './training-curve.ts';

export type TrainingOptions = {
  readonly seed: string;
  /** Tokens to train on, without padding. */
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

type TrainingProgress = CurvePoint & {
  readonly learningRate: number;
  readonly gradientNorm: number;
  /** Mean since the start, without padding. */
  readonly tokensPerSecond: number;
};

const optimiser: Omit<AdamWSettings, 'learningRate'> = {
  beta1: 0.9,
  beta2: 0.98,
  weightDecay: 0.05,
  maxGradientNorm: 1,
  decays: (name) => !name.endsWith('norm.weight'),
};

/** Linear warm-up, then cosine decay to 2% of the peak. */
export function learningRateAt(seen: number, options: TrainingOptions): number {
  const { peakLearningRate, warmUpTokens, tokens } = options;
  if (seen < warmUpTokens) return (peakLearningRate * (seen + 1)) / warmUpTokens;
  const done = Math.min(1, (seen - warmUpTokens) / (tokens - warmUpTokens));
  return peakLearningRate * (0.02 + 0.98 * 0.5 * (1 + Math.cos(Math.PI * done)));
}

/**
 * Trains every weight, in place, on generated dialogues, each used once. Yields after every step, with a point of
 * the curve every `curveEvery` steps, so that the caller can stop between steps. The same options give the same
 * weights on the same machine and backend with the same number of threads.
 */
export function* train(
  policy: Policy,
  weights: ReadonlyMap<string, Float32Array>,
  tokenizer: Tokenizer,
  { next, ...options }: TrainingOptions & { readonly next: NextConversation },
): Generator<TrainingProgress | undefined> {
  const { seed, tokens, tokensPerBatch, peakLearningRate, paddingId, curveEvery } = options;
  const adamW = createAdamW({ ...optimiser, learningRate: peakLearningRate });
  const state = emptyAdamWState();
  const heldOut = heldOutSequences(tokenizer, next, options);
  const shape = { tokensPerBatch, poolSize: 512, widthStep: 16, paddingId, next };
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

/** The last answers of dialogues that are generated from a separate random stream, so training never sees them. */
function heldOutSequences(
  tokenizer: Tokenizer,
  next: NextConversation,
  { seed, heldOutDialogues }: TrainingOptions,
): readonly PolicySequence[] {
  const random = createRandom(`${seed}/held-out-loss`);
  return Array.from({ length: heldOutDialogues }, () => {
    const { ids, mask } = encodeMessages(tokenizer, next(random));
    const end = mask.lastIndexOf(1) + 1;
    const start = mask.lastIndexOf(0, end - 1) + 1;
    return { promptIds: ids.slice(0, start), responseIds: ids.slice(start, end), temperature: 1 };
  });
}

/** Mean over all tokens of all responses, nats per token. */
function meanLoss(policy: Policy, sequences: readonly PolicySequence[]): number {
  const logProbs = scoreResponses(policy, undefined, sequences).flatMap((each) => [...each]);
  return -logProbs.reduce((sum, logProb) => sum + logProb, 0) / logProbs.length;
}
