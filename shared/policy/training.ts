import { type Microbatch, type PolicySequence, perMember, planMicrobatches } from './batching.ts';
import { compiled } from './executors/compiled.ts';
import { type LoraLayer, readLoraGradients } from './lora.ts';
import {
  backward,
  type ForwardSaved,
  forward,
  type ModelGradients,
  readOuterGradients,
  type SequenceContext,
  sequenceContext,
} from './model.ts';
import {
  type CrossEntropySaved,
  inverseTemperatures,
  logProbsOf,
  logProbsOfVjp,
  lossesOf,
  lossesOfVjp,
  lossScale,
  negatedLosses,
} from './ops/cross-entropy.ts';
import type { Adapter, Policy } from './policy.ts';
import { backwardByRecompute, recomputes } from './recompute.ts';
import { scoreResponses } from './scoring.ts';
import { readLayerGradients } from './weights.ts';

/** What is trained: every weight, or an adapter over frozen weights. */
export type Trainable = 'full' | Adapter;

/** A loss of log-probs: its value, its metrics, and dLoss / dlogProb for every response token. */
export type LossValue = {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly gradient: readonly ArrayLike<number>[];
};

export type LossAndGradients = {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** By published name (`model.layers.0...weight`), or by PEFT's name for an adapter. */
  readonly gradients: Map<string, Float32Array>;
};

type Pass = Pick<Microbatch, 'batch' | 'positions' | 'ids' | 'rows' | 'targets'> & {
  readonly temperatures?: Float32Array;
};

type ForwardPass = {
  readonly logProbs: Float32Array;
  readonly saved: ForwardSaved;
  readonly scored: CrossEntropySaved;
};

/** Two graphs serve all microbatches: what a graph saves for the derivative stays on the executor between. */
const forwardGraph = { name: 'forward pass', sizes: 'varying' } as const;
const backwardGraph = { name: 'backward pass', sizes: 'varying' } as const;

function forwardPass(
  { executor, model }: Policy,
  lora: readonly LoraLayer[] | undefined,
  { ids, rows, targets, temperatures }: Pass,
  context: SequenceContext,
  kept: 'activations' | 'inputs',
): ForwardPass {
  if (executor.kind === 'wasm') {
    const { logits, saved } = forward(executor, model, lora, ids, rows, context, kept);
    const scored = logProbsOf(executor, logits, targets, temperatures);
    executor.dispose(logits);
    return { logProbs: scored.logProbs, saved, scored: scored.saved };
  }
  const { config, weights } = model;
  const inverse = inverseTemperatures(executor, temperatures);
  const { losses, saved, scored } = compiled(
    executor,
    forwardGraph,
    { network: { config, weights }, lora, ids, rows, targets, inverse, context, kept },
    (on, input) => {
      const made = forward(on, input.network, input.lora, input.ids, input.rows, input.context, input.kept);
      const score = lossesOf(on, made.logits, input.targets, input.inverse);
      return { losses: score.losses, saved: made.saved, scored: score.saved };
    },
  );
  return { logProbs: negatedLosses(executor, losses), saved, scored };
}

/** @param rowWeights dLoss / dlogProb per row */
function backwardPass(
  { executor, model }: Policy,
  lora: readonly LoraLayer[] | undefined,
  { ids, rows, targets, temperatures }: Pass,
  context: SequenceContext,
  { saved, scored }: ForwardPass,
  rowWeights: Float32Array,
  wanted: { readonly weights: boolean },
): ModelGradients {
  const isRecomputed = saved.inputs.length > 0;
  if (executor.kind === 'wasm') {
    const dlogits = logProbsOfVjp(executor, scored, targets, rowWeights, temperatures);
    executor.dispose(scored);
    if (isRecomputed)
      return backwardByRecompute(executor, model, lora, { ids, rows }, context, saved, dlogits, wanted);
    return backward(executor, model, lora, ids, rows, context, saved, dlogits, wanted);
  }
  const { config, weights } = model;
  const scale = executor.upload(lossScale(rowWeights, temperatures), [rows.length, 1]);
  if (isRecomputed) {
    const dlogits = lossesOfVjp(executor, scored, scale);
    executor.dispose(scored);
    return backwardByRecompute(executor, model, lora, { ids, rows }, context, saved, dlogits, wanted);
  }
  return compiled(
    executor,
    backwardGraph,
    { network: { config, weights }, lora, ids, rows, scale, context, saved, scored, wanted },
    (on, input) => {
      const dlogits = lossesOfVjp(on, input.scored, input.scale);
      const { network, context: shared } = input;
      return backward(
        on,
        network,
        input.lora,
        input.ids,
        input.rows,
        shared,
        input.saved,
        dlogits,
        input.wanted,
      );
    },
  );
}

/** Gradients of one microbatch, and its log-probs; `weigh` turns log-probs into dLoss / dlogProb per row. */
function microbatchGradients(
  policy: Policy,
  trainable: Trainable,
  pass: Pass,
  weigh: (logProbs: Float32Array) => Float32Array,
  recompute = recomputes(policy.config, pass.batch, pass.positions),
): Map<string, Float32Array> {
  const { config, executor, model } = policy;
  const full = trainable === 'full';
  const lora = full ? undefined : trainable.layers;
  const gradients = new Map<string, Float32Array>();
  executor.scope(() => {
    const context = sequenceContext(executor, model, pass.batch, pass.positions, { backward: true });
    const forwarded = forwardPass(policy, lora, pass, context, recompute ? 'inputs' : 'activations');
    const rowWeights = weigh(forwarded.logProbs);
    const made = backwardPass(policy, lora, pass, context, forwarded, rowWeights, { weights: full });
    made.layers.forEach((layer, index) => {
      const values = full
        ? readLayerGradients(executor, config, index, layer)
        : readLoraGradients(executor, config, trainable.file, index, layer);
      for (const [name, gradient] of values) gradients.set(name, gradient);
    });
    for (const [name, gradient] of readOuterGradients(executor, made)) gradients.set(name, gradient);
  });
  return gradients;
}

function addInto(total: Map<string, Float32Array>, part: ReadonlyMap<string, Float32Array>): void {
  for (const [name, gradient] of part) {
    const sum = total.get(name);
    if (sum === undefined) total.set(name, gradient);
    else for (let i = 0; i < sum.length; i++) sum[i]! += gradient[i]!;
  }
}

/**
 * A loss of the responses' log-probs, and its gradients. The loss is a plain function: it gets one array of
 * log-probs per sequence (in nats, at the sequence's temperature) and returns dLoss / dlogProb in the same
 * shape.
 *
 * When the sequences do not fit through the model together, a forward pass for the log-probs comes first and
 * each part is computed again for its gradients.
 *
 * @param options recompute: whether each layer is computed again for its derivative instead of being kept;
 *   left out, the size decides (recompute.ts)
 * @throws Error when the loss returns gradients of another shape
 */
export function lossAndGradients(
  policy: Policy,
  trainable: Trainable,
  sequences: readonly PolicySequence[],
  loss: (logProbs: readonly Float32Array[]) => LossValue,
  options: { readonly recompute?: boolean } = {},
): LossAndGradients {
  const microbatches = planMicrobatches(sequences);
  const evaluate = (logProbs: readonly Float32Array[]): LossValue => {
    const value = loss(logProbs);
    const fits =
      value.gradient.length === logProbs.length &&
      logProbs.every((p, i) => p.length === value.gradient[i]!.length);
    if (!fits) throw new Error('the loss must return one gradient per response token');
    return value;
  };
  const weightsOf = ({ members, rows }: Microbatch, { gradient }: LossValue): Float32Array => {
    const weights = new Float32Array(rows.length);
    let at = 0;
    for (const index of members) {
      weights.set(gradient[index]!, at);
      at += gradient[index]!.length;
    }
    return weights;
  };

  const gradients = new Map<string, Float32Array>();
  let value: LossValue | undefined;
  if (microbatches.length !== 1) {
    value = evaluate(scoreResponses(policy, trainable === 'full' ? undefined : trainable, sequences));
  }
  for (const microbatch of microbatches) {
    const weigh = (logProbs: Float32Array): Float32Array => {
      if (value === undefined) {
        const perSequence: Float32Array[] = sequences.map(() => new Float32Array(0));
        for (const [index, values] of perMember(microbatch, sequences, logProbs)) perSequence[index] = values;
        value = evaluate(perSequence);
      }
      return weightsOf(microbatch, value);
    };
    addInto(gradients, microbatchGradients(policy, trainable, microbatch, weigh, options.recompute));
  }
  return { loss: value!.loss, metrics: value!.metrics, gradients };
}

/**
 * Sequences of one length for pretraining: token t is trained to predict token t + 1 where the mask says so.
 */
export type TokenBatch = {
  /** batch * (positions + 1) tokens, row-major */
  readonly tokens: Int32Array;
  readonly batch: number;
  /** Inputs per sequence; each sequence has one token more, which is only predicted. */
  readonly positions: number;
  /** batch * positions weights of the predictions, usually 0 or 1. Left out, all are 1. */
  readonly mask?: Float32Array;
};

/**
 * Weighted mean cross entropy over whole sequences, in nats per token, and the gradients of every weight (or
 * of an adapter). The whole batch goes through at once: batch * heads * positions^2 floats per layer must fit
 * in memory.
 */
export function crossEntropyAndGradients(
  policy: Policy,
  { tokens, batch, positions, mask }: TokenBatch,
  trainable: Trainable = 'full',
): { readonly loss: number; readonly gradients: Map<string, Float32Array> } {
  const ids = new Int32Array(batch * positions);
  const rows: number[] = [];
  const targets: number[] = [];
  const weights: number[] = [];
  for (let i = 0, row = 0; i < batch; i++) {
    ids.set(tokens.subarray(i * (positions + 1), i * (positions + 1) + positions), i * positions);
    for (let t = 0; t < positions; t++, row++) {
      const weight = mask?.[row] ?? 1;
      if (weight === 0) continue;
      rows.push(row);
      targets.push(tokens[i * (positions + 1) + t + 1]!);
      weights.push(weight);
    }
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) throw new Error('no token of the batch is trained');
  let loss = 0;
  const scored = { batch, positions, ids, rows: Int32Array.from(rows), targets: Int32Array.from(targets) };
  const gradients = microbatchGradients(policy, trainable, scored, (logProbs) => {
    loss = -logProbs.reduce((sum, logProb, i) => sum + logProb * weights[i]!, 0) / total;
    return Float32Array.from(weights, (weight) => -weight / total);
  });
  return { loss, gradients };
}
