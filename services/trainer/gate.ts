import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { GateResult } from '../../shared/policy/checkpoint-store-state.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { type CanaryFigures, canaryFigures, ownPrompts, takesRequests } from './canaries.ts';
import { canaryRefusal, looksAtCanaries, type Tolerances } from './canary-gate.ts';
import { isWrittenAlike } from './hinted-prompt.ts';
import type { LearningEngine } from './learning-engine.ts';

/** A step that was taken: from where, and where it leads to. */
export type Stride = {
  /** undefined: the base */
  readonly parent: TrainedWeights | undefined;
  /** the parent's numbers, or those of a fresh adapter, which changes nothing */
  readonly from: TrainedWeights;
  readonly to: TrainedWeights;
  /** the batch's answers */
  readonly sequences: readonly PolicySequence[];
  /** of earlier batches, whose requests are asked again */
  readonly earlier?: readonly SampleReady['data'][] | undefined;
};

export type Bounds = Pick<TrainingSettings, 'gateMeanKl' | 'gateBaseKl' | 'gateLeastScale'>;

/** Mean KL over the answers' positions and the whole vocabulary, nats per token. */
export type Distances = { readonly meanKl: number; readonly klToBase: number };

export type Gated = {
  /** the candidate: what is left of the step, or all of it where no part was near enough */
  readonly adapter: TrainedWeights;
  readonly gate: GateResult;
  readonly distances: Distances;
  /** part of the step that the candidate is: what `distances` and `canaries` are of */
  readonly candidateScale: number;
  /** part of the step that was taken: `candidateScale`, or 0 where the gate stayed shut */
  readonly stepScale: number;
  /** undefined: nobody looked at answers */
  readonly canaries?: CanaryFigures;
};

/** Steps are shortened by eighths. */
const PARTS = 8;

/**
 * Lets a step through whose candidate is near enough to its parent and to the base, or the largest part of it
 * that is. A candidate that is far from the base passes where its parent was farther: that is the way back.
 *
 * The optimizer's moments stay those of the whole step: they are means of gradients, whose size does not
 * depend on how far they were followed, so that a shortened step is one at a lower learning rate.
 */
export function passGate(engine: LearningEngine, stride: Stride, bounds: Bounds): Gated {
  const { parent, from, to, sequences } = stride;
  const distancesOf = (adapter: TrainedWeights): Distances => {
    const meanKl = engine.meanKl(adapter, parent, sequences);
    return {
      meanKl,
      klToBase: parent === undefined ? meanKl : engine.meanKl(adapter, undefined, sequences),
    };
  };
  const parentKl = once(() => (parent === undefined ? 0 : engine.meanKl(parent, undefined, sequences)));
  const whole = distancesOf(to);
  const refused = refusal(whole, bounds, parentKl);
  const atFull = { adapter: to, distances: whole, candidateScale: 1 };
  if (refused === undefined) return { ...atFull, gate: { passed: true }, stepScale: 1 };
  let [fits, high] = [Math.ceil(PARTS * bounds.gateLeastScale) - 1, PARTS];
  let shorter: Gated | undefined;
  while (high - fits > 1) {
    const eighths = Math.floor((fits + high) / 2);
    const adapter = between(from, to, eighths / PARTS);
    const distances = distancesOf(adapter);
    if (refusal(distances, bounds, parentKl) !== undefined) high = eighths;
    else {
      fits = eighths;
      const scale = eighths / PARTS;
      shorter = { adapter, gate: { passed: true }, distances, candidateScale: scale, stepScale: scale };
    }
  }
  return shorter ?? { ...atFull, gate: refused, stepScale: 0 };
}

/**
 * The same, and then by what the candidate answers, where the settings ask for that and the engine can answer.
 * The answers let a candidate pass or not; its numbers do not follow from them. By rules before the third, what
 * was left of a refused step was the whole of it again.
 */
export function gate(
  engine: LearningEngine,
  stride: Stride,
  settings: Bounds & Tolerances & Pick<TrainingSettings, 'rules'>,
): Gated {
  const passed = passGate(engine, stride, settings);
  const { speech } = engine;
  if (!passed.gate.passed || speech === undefined || !looksAtCanaries(settings)) return passed;
  if (!takesRequests(engine, speech.canaries)) return passed;
  const own = ownPrompts(stride.sequences, engine, requestsOf(stride, engine));
  const figuresOf = (adapter: TrainedWeights | undefined) => canaryFigures(engine, speech, adapter, own);
  const [base, canaries] = [figuresOf(undefined), figuresOf(passed.adapter)];
  const parent = once(() => (stride.parent === undefined ? base : figuresOf(stride.parent)));
  const refused = canaryRefusal(canaries, base, parent, settings);
  if (refused === undefined) return { ...passed, canaries };
  const shut = { ...passed, stepScale: 0, canaries };
  return settings.rules < 3
    ? { ...shut, adapter: stride.to, gate: refused }
    : { ...shut, gate: ofPart(refused, passed.candidateScale) };
}

/** What another tokenizer or template wrote says nothing to this model. */
const requestsOf = ({ earlier = [] }: Stride, engine: LearningEngine) =>
  earlier.filter((sample) => isWrittenAlike(sample, engine)).map(({ tokens }) => tokens);

/** The refusal of a candidate that is a part of its step says which. */
function ofPart(refused: Refusal, candidateScale: number): Refusal {
  if (candidateScale === 1) return refused;
  return {
    ...refused,
    detail: `${refused.detail}; the candidate is ${candidateScale * PARTS} eighths of the step`,
    figures: { ...refused.figures, candidateScale },
  };
}

type Refusal = Extract<GateResult, { passed: false }>;

/** Why a candidate is not served; undefined: it is near enough. */
function refusal(
  { meanKl, klToBase }: Distances,
  { gateMeanKl, gateBaseKl = Number.POSITIVE_INFINITY }: Bounds,
  parentKl: () => number,
): Refusal | undefined {
  if (!(meanKl <= gateMeanKl))
    return {
      passed: false,
      reason: 'kl-to-parent',
      detail: `mean KL to the parent is ${shown(meanKl)} nats per token, the limit is ${gateMeanKl}`,
      figures: { meanKl, limit: gateMeanKl },
    };
  if (klToBase <= gateBaseKl || klToBase < parentKl()) return undefined;
  const parent = parentKl();
  return {
    passed: false,
    reason: 'kl-to-base',
    detail: `mean KL to the base is ${shown(klToBase)} nats per token, the limit is ${gateBaseKl}, the parent's is ${shown(parent)}`,
    figures: { klToBase, limit: gateBaseKl, parent },
  };
}

const shown = (nats: number): string => nats.toPrecision(4);

/** from + part * (to - from) */
export const between = (from: TrainedWeights, to: TrainedWeights, part: number): TrainedWeights => ({
  ...to,
  tensors: new Map(
    [...to.tensors].map(([name, { shape, values }]) => {
      const start = from.tensors.get(name)!.values;
      return [
        name,
        { shape, values: values.map((value, index) => start[index]! + part * (value - start[index]!)) },
      ];
    }),
  ),
});

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
