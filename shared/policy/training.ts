import { type Microbatch, microbatchesOn, type PolicySequence, perMember } from './batching.ts';
import {
  type CandidatesPerSequence,
  candidatesOfRows,
  candidatesPerMember,
} from './candidates-per-sequence.ts';
import { compiled } from './executors/compiled.ts';
import type { Executor } from './executors/executor.ts';
import { type LoraLayer, readLoraGradients } from './lora.ts';
import {
  backward,
  type ForwardSaved,
  forward,
  type Model,
  type ModelGradients,
  readOuterGradients,
  type SequenceContext,
  sequenceContext,
} from './model.ts';
import {
  addAt,
  type CandidateLogProbs,
  type Candidates,
  candidateLogProbsOf,
  candidatePartsOf,
  candidatePlaces,
  candidateVjp,
  type RowSlopes,
  readCandidates,
} from './ops/candidates.ts';
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
import { type Adapter, networkOf, type Policy } from './policy.ts';
import { backwardByRecompute, recomputes } from './recompute.ts';
import { scoreResponses } from './scoring.ts';
import { readLayerGradients } from './weights.ts';

/** What is trained: every weight of the policy itself, or an adapter; its own frozen weights stay then. */
export type Trainable = 'full' | Adapter;

/** A loss of log-probs: its value, its metrics, and dLoss / dlogProb for every response token. */
export type LossValue = {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly gradient: readonly ArrayLike<number>[];
  /** dLoss / dlogProb of the candidates of each sequence, [T * count]; undefined: none */
  readonly candidateGradient?: readonly (ArrayLike<number> | undefined)[];
};

export type LossAndGradients = {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** By published name (`model.layers.0...weight`), or by PEFT's name for an adapter. */
  readonly gradients: Map<string, Float32Array>;
};

type Pass = Pick<Microbatch, 'batch' | 'positions' | 'ids' | 'rows' | 'targets'> & {
  readonly temperatures?: Float32Array;
  readonly candidates?: Candidates | undefined;
};

type ForwardPass = {
  readonly logProbs: Float32Array;
  readonly candidates: CandidateLogProbs | undefined;
  readonly saved: ForwardSaved;
  readonly scored: CrossEntropySaved;
};

/** Two graphs serve all microbatches: what a graph saves for the derivative stays on the executor between. */
const forwardGraph = { name: 'forward pass', sizes: 'varying' } as const;
const backwardGraph = { name: 'backward pass', sizes: 'varying' } as const;

function forwardPass(
  executor: Executor,
  model: Model,
  lora: readonly LoraLayer[] | undefined,
  { ids, rows, targets, temperatures, candidates }: Pass,
  context: SequenceContext,
  kept: 'activations' | 'inputs',
): ForwardPass {
  if (executor.kind === 'wasm') {
    const { logits, saved } = forward(executor, model, lora, ids, rows, context, kept);
    const scored = logProbsOf(executor, logits, targets, temperatures);
    const others =
      candidates && candidateLogProbsOf(executor, logits, targets, candidates, scored, temperatures);
    executor.dispose(logits);
    return { logProbs: scored.logProbs, candidates: others, saved, scored: scored.saved };
  }
  const { config, weights } = model;
  const inverse = inverseTemperatures(executor, temperatures);
  const places = candidates && candidatePlaces(targets, candidates, config.vocabularySize);
  const { losses, parts, saved, scored } = compiled(
    executor,
    forwardGraph,
    { network: { config, weights }, lora, ids, rows, targets, inverse, places, context, kept },
    (on, input) => {
      const made = forward(on, input.network, input.lora, input.ids, input.rows, input.context, input.kept);
      const score = lossesOf(on, made.logits, input.targets, input.inverse);
      const parts = input.places && candidatePartsOf(on, made.logits, input.places, input.inverse);
      return { losses: score.losses, parts, saved: made.saved, scored: score.saved };
    },
  );
  const logProbs = negatedLosses(executor, losses);
  const others = parts && readCandidates(executor, parts, logProbs, candidates!);
  return { logProbs, candidates: others, saved, scored };
}

function backwardPass(
  executor: Executor,
  model: Model,
  lora: readonly LoraLayer[] | undefined,
  { ids, rows, targets, temperatures, candidates }: Pass,
  context: SequenceContext,
  { saved, scored }: Pick<ForwardPass, 'saved' | 'scored'>,
  slopes: RowSlopes,
  wanted: { readonly weights: boolean },
): ModelGradients {
  const isRecomputed = saved.inputs.length > 0;
  const { weights: ofTargets, addition } = candidateVjp(
    executor,
    targets,
    candidates,
    slopes,
    model.config.vocabularySize,
    temperatures,
  );
  if (executor.kind === 'wasm') {
    const made = logProbsOfVjp(executor, scored, targets, ofTargets, temperatures);
    executor.dispose(scored);
    const dlogits = addAt(executor, made, addition);
    if (isRecomputed)
      return backwardByRecompute(executor, model, lora, { ids, rows }, context, saved, dlogits, wanted);
    return backward(executor, model, lora, ids, rows, context, saved, dlogits, wanted);
  }
  const { config, weights } = model;
  const scale = executor.upload(lossScale(ofTargets, temperatures), [rows.length, 1]);
  if (isRecomputed) {
    const dlogits = addAt(executor, lossesOfVjp(executor, scored, scale), addition);
    executor.dispose(scored);
    return backwardByRecompute(executor, model, lora, { ids, rows }, context, saved, dlogits, wanted);
  }
  return compiled(
    executor,
    backwardGraph,
    { network: { config, weights }, lora, ids, rows, scale, addition, context, saved, scored, wanted },
    (on, input) => {
      const dlogits = addAt(on, lossesOfVjp(on, input.scored, input.scale), input.addition);
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

/** Gradients of one pass of the model; `weigh` turns log-probs into dLoss / dlogProb per row. */
export function passGradients(
  policy: Policy,
  trainable: Trainable,
  pass: Pass,
  weigh: (made: Pick<ForwardPass, 'logProbs' | 'candidates'>) => RowSlopes,
  recompute = recomputes(policy.config, pass.batch, pass.positions),
): Map<string, Float32Array> {
  const { config, executor } = policy;
  const full = trainable === 'full' || trainable.kind === 'full';
  const { model, lora } = networkOf(policy, trainable === 'full' ? undefined : trainable);
  const gradients = new Map<string, Float32Array>();
  executor.scope(() => {
    const context = sequenceContext(executor, model, pass.batch, pass.positions, { backward: true });
    const forwarded = forwardPass(executor, model, lora, pass, context, recompute ? 'inputs' : 'activations');
    const slopes = weigh(forwarded);
    const made = backwardPass(executor, model, lora, pass, context, forwarded, slopes, { weights: full });
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
 *   left out, the size decides (recompute.ts). candidates: tokens whose log-probs the loss gets too, of each
 *   sequence that has some; all sequences must then fit in one part (microbatchesOn)
 * @throws Error when the loss returns gradients of another shape
 */
export function lossAndGradients(
  policy: Policy,
  trainable: Trainable,
  sequences: readonly PolicySequence[],
  loss: (
    logProbs: readonly Float32Array[],
    candidates: readonly (CandidateLogProbs | undefined)[],
  ) => LossValue,
  options: { readonly recompute?: boolean; readonly candidates?: CandidatesPerSequence | undefined } = {},
): LossAndGradients {
  const { candidates, recompute } = options;
  const microbatches = microbatchesOn(policy.executor, sequences);
  const evaluate = (
    logProbs: readonly Float32Array[],
    others: readonly (CandidateLogProbs | undefined)[],
  ): LossValue => {
    const value = loss(logProbs, others);
    const fits =
      value.gradient.length === logProbs.length &&
      logProbs.every((p, i) => p.length === value.gradient[i]!.length);
    if (!fits) throw new Error('the loss must return one gradient per response token');
    return value;
  };
  const slopesOf = ({ members, rows }: Microbatch, { gradient, candidateGradient }: LossValue): RowSlopes => {
    const weights = new Float32Array(rows.length);
    const own = new Float32Array(rows.length * (candidates?.count ?? 0));
    let at = 0;
    for (const index of members) {
      weights.set(gradient[index]!, at);
      own.set(candidateGradient?.[index] ?? [], at * (candidates?.count ?? 0));
      at += gradient[index]!.length;
    }
    return candidates === undefined ? { weights } : { weights, candidates: own };
  };

  const gradients = new Map<string, Float32Array>();
  let value: LossValue | undefined;
  if (microbatches.length !== 1) {
    if (candidates !== undefined) throw new Error('sequences with candidates must go through together');
    const scored = scoreResponses(policy, trainable === 'full' ? undefined : trainable, sequences);
    value = evaluate(scored, []);
  }
  for (const microbatch of microbatches) {
    const weigh = (made: Pick<ForwardPass, 'logProbs' | 'candidates'>): RowSlopes => {
      if (value === undefined) {
        const perSequence: Float32Array[] = sequences.map(() => new Float32Array(0));
        for (const [index, values] of perMember(microbatch, sequences, made.logProbs))
          perSequence[index] = values;
        value = evaluate(
          perSequence,
          candidatesPerMember(microbatch, sequences, candidates, made.candidates),
        );
      }
      return slopesOf(microbatch, value);
    };
    const pass = {
      ...microbatch,
      candidates: candidates && candidatesOfRows(microbatch, sequences, candidates),
    };
    addInto(gradients, passGradients(policy, trainable, pass, weigh, recompute));
  }
  return { loss: value!.loss, metrics: value!.metrics, gradients };
}
