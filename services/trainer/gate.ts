import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { GateResult } from '../../shared/policy/checkpoints/state.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { absurdAnswers } from './absurd-answers.ts';
import { type AnswerFigures, answerFigures, canAnswer, personPrompts } from './answer-figures.ts';
import { answerRefusal, checksAnswers, type Tolerances } from './answer-gate.ts';
import { rendersIdentically } from './hinted-prompt.ts';
import type { LearningEngine } from './learning-engine.ts';

/** A step from one version to a candidate. */
type Stride = {
  /** undefined: the base */
  readonly parent: TrainedWeights | undefined;
  /** the parent's weights, or those of a fresh adapter, which has no effect */
  readonly from: TrainedWeights;
  readonly to: TrainedWeights;
  /** the batch's answers */
  readonly sequences: readonly PolicySequence[];
  /** samples of earlier batches, whose requests are asked again */
  readonly earlier?: readonly SampleReady['data'][] | undefined;
};

export type Bounds = Pick<TrainingSettings, 'gateMeanKl' | 'gateBaseKl' | 'gateLeastScale'>;

/** Mean KL over the answers' positions, nats per token; see `meanPolicyKl`. */
export type Distances = { readonly meanKl: number; readonly klToBase: number };

export type GatedStep = {
  readonly gate: GateResult;
  /** Distances and estimates of them, by name. */
  readonly distances: Readonly<Record<string, number>>;
  /** the fraction of the step that is the candidate, to which `distances` and `answers` refer */
  readonly candidateScale: number;
  /** the fraction of the step that was taken: `candidateScale`, or 0 if the gate refused it */
  readonly stepScale: number;
  /** undefined: answers were not checked */
  readonly answers?: AnswerFigures;
};

/** A step that the gate shortens itself. */
type ShortenedStep = GatedStep & {
  /** the candidate: the accepted part of the step, or all of it if no part was close enough */
  readonly adapter: TrainedWeights;
  readonly distances: Distances;
};

export type GateSettings = Bounds & Tolerances & Pick<TrainingSettings, 'rules'>;

/** Steps are shortened by eighths; parts below an eighth are halves of each other. */
const PARTS = 8;

/**
 * Accepts a step if its candidate is close enough to the parent and the base, otherwise the largest part of the
 * step that is. A candidate far from the base passes if its parent was even farther, so that a policy can
 * recover.
 *
 * The optimizer's moments stay those of the whole step: they are means of gradients, which do not depend on the
 * length of the step. A shortened step therefore equals one with a lower learning rate.
 */
export function passGate(engine: LearningEngine, stride: Stride, bounds: Bounds): ShortenedStep {
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
  const partOf = (scale: number): ShortenedStep | undefined => {
    const adapter = between(from, to, scale);
    const distances = distancesOf(adapter);
    if (refusal(distances, bounds, parentKl) !== undefined) return undefined;
    return { adapter, gate: { passed: true }, distances, candidateScale: scale, stepScale: scale };
  };
  const shorter = largestPart(bounds.gateLeastScale, partOf);
  return shorter ?? { ...atFull, gate: refused, stepScale: 0 };
}

/** The largest part of a step, at least `least`, for which `partOf` has a result; the whole step has none. */
function largestPart<Part>(least: number, partOf: (scale: number) => Part | undefined): Part | undefined {
  let found: Part | undefined;
  let [fits, high] = [Math.max(1, Math.ceil(PARTS * least)) - 1, PARTS];
  while (high - fits > 1) {
    const eighths = Math.floor((fits + high) / 2);
    const part = partOf(eighths / PARTS);
    if (part === undefined) high = eighths;
    else [fits, found] = [eighths, part];
  }
  for (let scale = 1 / (2 * PARTS); found === undefined && scale >= least; scale /= 2) found = partOf(scale);
  return found;
}

/**
 * Applies `passGate`, then checks the candidate's answers if the settings require it and the engine can answer.
 * The answers decide whether a candidate passes but do not change its weights. Under rules before the third, a
 * refused candidate is the whole step again.
 */
export function gate(engine: LearningEngine, stride: Stride, settings: GateSettings): ShortenedStep {
  const passed = passGate(engine, stride, settings);
  const { speech } = engine;
  if (!passed.gate.passed || speech === undefined || !checksAnswers(settings)) return passed;
  if (!canAnswer(engine, speech.gateRequests))
    return { ...passed, gate: { ...passed.gate, answersChecked: false } };
  const own = personPrompts(stride.sequences, engine, earlierPrompts(stride, engine));
  const figuresOf = (adapter: TrainedWeights | undefined): AnswerFigures => ({
    ...answerFigures(engine, speech, adapter, own),
    ...(settings.gateAbsurd !== undefined && { absurdAnswers: absurdAnswers(engine, speech, adapter) }),
  });
  const [base, answers] = [figuresOf(undefined), figuresOf(passed.adapter)];
  const parent = once(() => (stride.parent === undefined ? base : figuresOf(stride.parent)));
  const refused = answerRefusal(answers, settings.rules < 3 ? withoutOwn(base) : base, parent, settings);
  if (refused === undefined) return { ...passed, answers };
  const shut = { ...passed, stepScale: 0, answers };
  return settings.rules < 3
    ? { ...shut, adapter: stride.to, gate: refused }
    : { ...shut, gate: refusalOfPart(refused, passed.candidateScale) };
}

/** Under earlier rules, answers to the person's prompts were not checked for their content. */
const withoutOwn = ({ ownContent: _, ...figures }: AnswerFigures): AnswerFigures => figures;

/** Prompts of earlier batches that the current tokenizer and template still produce. */
const earlierPrompts = ({ earlier = [] }: Stride, engine: LearningEngine) =>
  earlier.filter((sample) => rendersIdentically(sample, engine)).map(({ tokens }) => tokens);

/** Adds to a refusal which part of its step the candidate is. */
function refusalOfPart(refused: Refusal, candidateScale: number): Refusal {
  if (candidateScale === 1) return refused;
  return {
    ...refused,
    detail: `${refused.detail}; the candidate is ${Number((100 * candidateScale).toFixed(1))} % of the step`,
    figures: { ...refused.figures, candidateScale },
  };
}

export type Refusal = Extract<GateResult, { passed: false }>;

/** Why a candidate is refused; undefined: it is close enough. */
export function refusal(
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
