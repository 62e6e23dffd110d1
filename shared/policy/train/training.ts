import { compiled } from '../executors/compiled.ts';
import type { Executor } from '../executors/executor.ts';
import { readLoraGradients } from '../model/lora.ts';
import {
  type BackwardInput,
  backward,
  type ForwardSaved,
  forward,
  type ModelGradients,
  type Network,
  readOuterGradients,
  type SequenceContext,
  sequenceContext,
} from '../model/model.ts';
import { type Adapter, networkOf, type Policy } from '../model/policy.ts';
import { readLayerGradients } from '../model/weights.ts';
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
} from '../ops/candidates.ts';
import {
  type CrossEntropySaved,
  inverseTemperatures,
  logProbsOf,
  logProbsOfVjp,
  lossesOf,
  lossesOfVjp,
  lossScale,
  negatedLosses,
} from '../ops/cross-entropy.ts';
import { type AllowedRows, excluded, uploadExclusion } from '../ops/restriction.ts';
import { type Microbatch, microbatchesOn, type PolicySequence, perMember } from './batching.ts';
import {
  type CandidatesPerSequence,
  candidatesOfRows,
  candidatesPerMember,
} from './candidates-per-sequence.ts';
import { backwardByRecompute, recomputes } from './recompute.ts';
import { scoreResponses } from './scoring.ts';

/** What is trained: every weight of the policy, or an adapter; then the policy's weights are frozen. */
export type Trainable = 'full' | Adapter;

/** A loss of log-probs: its value, its metrics, and dLoss / dlogProb for every response token. */
export type LossValue = {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly gradient: readonly ArrayLike<number>[];
  /** dLoss / dlogProb of the candidates of each sequence, [T * count]; undefined: none */
  readonly candidateGradient?: readonly (ArrayLike<number> | undefined)[];
};

type LossAndGradients = {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
  /** By published name (`model.layers.0...weight`), or by PEFT's name for an adapter. */
  readonly gradients: Map<string, Float32Array>;
};

type Pass = Pick<Microbatch, 'batch' | 'positions' | 'ids' | 'rows' | 'targets'> & {
  readonly allowed?: AllowedRows | undefined;
  readonly temperatures?: Float32Array;
  readonly candidates?: Candidates | undefined;
};

type ForwardPass = {
  readonly logProbs: Float32Array;
  readonly candidates: CandidateLogProbs | undefined;
  readonly saved: ForwardSaved;
  readonly scored: CrossEntropySaved;
};

/** Two graphs serve all microbatches; activations stay on the executor between them. */
const forwardGraph = { name: 'forward pass', sizes: 'varying' } as const;
const backwardGraph = { name: 'backward pass', sizes: 'varying' } as const;

/** A pass, with the network that computes it. */
type NetworkPass = Pass & { readonly network: Network; readonly context: SequenceContext };

function forwardPass(executor: Executor, pass: NetworkPass, kept: 'activations' | 'inputs'): ForwardPass {
  const { network, ids, rows, targets, temperatures, candidates, context } = pass;
  const exclusion = uploadExclusion(executor, pass.allowed, network.config.vocabularySize);
  if (executor.kind === 'wasm') {
    const { logits: all, saved } = forward(executor, network, pass, kept);
    const logits = excluded(executor, all, exclusion);
    const scored = logProbsOf(executor, logits, targets, temperatures);
    const others =
      candidates && candidateLogProbsOf(executor, logits, { targets, temperatures, candidates }, scored);
    executor.dispose(exclusion === undefined ? logits : [all, logits, exclusion]);
    return { logProbs: scored.logProbs, candidates: others, saved, scored: scored.saved };
  }
  const inverse = inverseTemperatures(executor, temperatures);
  const places = candidates && candidatePlaces(targets, candidates, network.config.vocabularySize);
  const { losses, parts, saved, scored } = compiled(
    executor,
    forwardGraph,
    { network, batch: { ids, rows, context }, targets, inverse, places, kept, exclusion },
    (on, input) => {
      const made = forward(on, input.network, input.batch, input.kept);
      const logits = excluded(on, made.logits, input.exclusion);
      const score = lossesOf(on, logits, input.targets, input.inverse);
      const parts = input.places && candidatePartsOf(on, logits, input.places, input.inverse);
      return { losses: score.losses, parts, saved: made.saved, scored: score.saved };
    },
  );
  const logProbs = negatedLosses(executor, losses);
  const others = parts && readCandidates(executor, parts, logProbs, candidates!);
  return { logProbs, candidates: others, saved, scored };
}

function backwardPass(
  executor: Executor,
  pass: NetworkPass,
  { saved, scored }: Pick<ForwardPass, 'saved' | 'scored'>,
  { slopes, wanted }: Pick<BackwardInput, 'wanted'> & { readonly slopes: RowSlopes },
): ModelGradients {
  const { network, ids, rows, temperatures, context } = pass;
  const isRecomputed = saved.inputs.length > 0;
  const corrected = candidateVjp(executor, pass, slopes, network.config.vocabularySize);
  const { weights: ofTargets, addition } = corrected;
  if (executor.kind === 'wasm') {
    const made = logProbsOfVjp(executor, scored, pass, ofTargets);
    executor.dispose(scored);
    const input = { saved, dlogits: addAt(executor, made, addition), wanted };
    return (isRecomputed ? backwardByRecompute : backward)(executor, network, pass, input);
  }
  const scale = executor.upload(lossScale(ofTargets, temperatures), [rows.length, 1]);
  if (isRecomputed) {
    const dlogits = addAt(executor, lossesOfVjp(executor, scored, scale), addition);
    executor.dispose(scored);
    return backwardByRecompute(executor, network, pass, { saved, dlogits, wanted });
  }
  return compiled(
    executor,
    backwardGraph,
    { network, batch: { ids, rows, context }, scale, addition, saved, scored, wanted },
    (on, input) => {
      const dlogits = addAt(on, lossesOfVjp(on, input.scored, input.scale), input.addition);
      const { saved: activations, wanted: gradients } = input;
      return backward(on, input.network, input.batch, { saved: activations, dlogits, wanted: gradients });
    },
  );
}

type PassOptions = {
  /** Turns log-probs into dLoss / dlogProb per row. */
  readonly weigh: (made: Pick<ForwardPass, 'logProbs' | 'candidates'>) => RowSlopes;
  /** Whether each layer is computed again for its derivative; undefined: the size decides (recompute.ts). */
  readonly recompute?: boolean | undefined;
};

/** Gradients of one pass of the model. */
export function passGradients(
  policy: Policy,
  trainable: Trainable,
  pass: Pass,
  { weigh, recompute = recomputes(policy.config, pass.batch, pass.positions) }: PassOptions,
): Map<string, Float32Array> {
  const { config, executor } = policy;
  const full = trainable === 'full' || trainable.kind === 'full';
  const { model, network } = networkOf(policy, trainable === 'full' ? undefined : trainable);
  const gradients = new Map<string, Float32Array>();
  const { batch, positions } = pass;
  executor.scope(() => {
    const context = sequenceContext(executor, model, { batch, positions, backward: true });
    const networkPass = { ...pass, network, context };
    const forwarded = forwardPass(executor, networkPass, recompute ? 'inputs' : 'activations');
    const slopes = weigh(forwarded);
    const made = backwardPass(executor, networkPass, forwarded, { slopes, wanted: { weights: full } });
    made.layers.forEach((layer, index) => {
      const values = full
        ? readLayerGradients(executor, config, index, layer)
        : readLoraGradients(executor, { config, file: trainable.file }, index, layer);
      for (const [name, gradient] of values) gradients.set(name, gradient);
    });
    for (const [name, gradient] of readOuterGradients(executor, made)) gradients.set(name, gradient);
  });
  return gradients;
}

/** Adds gradients to those of the same name; takes over the arrays of the others. */
export function addInto(total: Map<string, Float32Array>, part: ReadonlyMap<string, Float32Array>): void {
  for (const [name, gradient] of part) {
    const sum = total.get(name);
    if (sum === undefined) total.set(name, gradient);
    else for (let i = 0; i < sum.length; i++) sum[i]! += gradient[i]!;
  }
}

/** A loss of log-probs, and how its gradients are computed. */
type LossOptions = {
  /**
   * A plain function. It gets one array of log-probs per sequence (in nats, at the sequence's temperature) and
   * returns dLoss / dlogProb in the same shape.
   */
  readonly loss: (
    logProbs: readonly Float32Array[],
    candidates: readonly (CandidateLogProbs | undefined)[],
  ) => LossValue;
  /** Whether each layer is computed again for its derivative; undefined: the size decides (recompute.ts). */
  readonly recompute?: boolean | undefined;
  /** Tokens whose log-probs the loss also gets. All sequences must then fit in one microbatch. */
  readonly candidates?: CandidatesPerSequence | undefined;
};

/**
 * A loss of the responses' log-probs, and its gradients.
 *
 * When the sequences do not fit through the model together, a forward pass computes the log-probs first, and
 * each part is then computed again for its gradients.
 *
 * @throws Error when the loss returns gradients of another shape
 */
export function lossAndGradients(
  policy: Policy,
  trainable: Trainable,
  sequences: readonly PolicySequence[],
  { loss, candidates, recompute }: LossOptions,
): LossAndGradients {
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
    const candidateSlopes = new Float32Array(rows.length * (candidates?.count ?? 0));
    let at = 0;
    for (const index of members) {
      weights.set(gradient[index]!, at);
      candidateSlopes.set(candidateGradient?.[index] ?? [], at * (candidates?.count ?? 0));
      at += gradient[index]!.length;
    }
    return candidates === undefined ? { weights } : { weights, candidates: candidateSlopes };
  };

  const gradients = new Map<string, Float32Array>();
  let value: LossValue | undefined;
  if (microbatches.length !== 1) {
    if (candidates !== undefined) throw new Error('sequences with candidates must fit in one microbatch');
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
    addInto(gradients, passGradients(policy, trainable, pass, { weigh, recompute }));
  }
  return { loss: value!.loss, metrics: value!.metrics, gradients };
}
