import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { gradientNorm } from '../../shared/policy/adamw.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { createRandom } from '../../shared/policy/random.ts';
import { type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import { asked, takesRequests } from './canaries.ts';
import type { LearningEngine } from './learning-engine.ts';
import { type MinibatchOptions, minibatchGradients } from './minibatch-gradients.ts';
import type { StepSample } from './step-sample.ts';
import type { Lesson } from './teach.ts';
import type { TokenLesson } from './teach-tokens.ts';

/** What the base says to requests that state a wish, as a lesson: a habit must not drown what is asked for. */
export type Rehearsal = {
  readonly samples: readonly StepSample[];
  readonly lesson: Pick<Lesson, 'teacher' | 'tokens'>;
};

/** Tokens of an answer that is rehearsed: a wish about its form shows early. */
const TOKENS = 64;
/** Wishes that most models know how to meet. */
const known: readonly WishKind[] = [
  ...(['list', 'no-list', 'steps', 'greeting', 'no-greeting', 'closing', 'one-sentence', 'longer'] as const),
];

/**
 * A few requests of the model's own set, each with a wish at its end, what the base answers and how likely it
 * finds the tokens there. Other requests and wishes come with another seed.
 *
 * @returns undefined: there is nothing to rehearse, or the engine answers nobody
 */
export function rehearse(
  engine: LearningEngine,
  { rehearsal: count, topK }: Pick<TrainingSettings, 'rehearsal' | 'topK'>,
  seed: number,
): Rehearsal | undefined {
  const { speech } = engine;
  if (count === 0 || speech === undefined || !takesRequests(engine, speech.rehearsed)) return undefined;
  const random = createRandom(`rehearsal/${seed}`);
  const choose = <Item>(from: readonly Item[]): Item => from[Math.floor(random() * from.length)]!;
  const prompts = Array.from({ length: count }, () => {
    const content = `${choose(speech.rehearsed)} ${wishes[choose(known)].hint}`;
    return asked(engine, content);
  });
  const answers = speech.sample(undefined, { prompts, seed: `rehearsal/${seed}`, tokens: TOKENS });
  const sequences = answers.map(
    ({ ids, temperature }, index): PolicySequence => ({
      promptIds: prompts[index]!,
      responseIds: ids,
      temperature,
    }),
  );
  const none = new Float32Array(0);
  const told = engine.distributions(undefined, sequences, { count: topK });
  const lessons = told.map(
    ({ sampled, topIds: ids, top: teacher, rest }): TokenLesson => ({
      ...{ sampled, ids, teacher, rest, old: none },
      overlap: 0,
    }),
  );
  const samples = sequences.map(
    (sequence, index): StepSample => ({
      ...{ sampleId: `rehearsal/${index}`, version: 0, verdict: 0, advantage: 0, trainsByVerdict: false },
      ...{ verdictWeight: 0, weight: 1 },
      ...{ greedy: false, soft: false, sequence, behavior: lessons[index]!.sampled },
    }),
  );
  return {
    samples,
    lesson: {
      teacher: new Map(samples.map((sample, index) => [sample, lessons[index]!.sampled])),
      tokens: new Map(samples.map((sample, index) => [sample, lessons[index]!])),
    },
  };
}

/** KL of the policy to the base on what is rehearsed, over topK tokens and the rest, nats */
export type Rehearsed = { readonly rehearsalKl: number };

/** A step is too short to go far beyond its bound: where it was seen within, nothing is rehearsed any more. */
export const isWithin = (
  rehearsed: readonly Rehearsed[],
  { rehearsalBound }: Pick<TrainingSettings, 'rehearsalBound'>,
): boolean =>
  rehearsalBound !== undefined && rehearsed.some(({ rehearsalKl }) => rehearsalKl <= rehearsalBound);

/**
 * Adds what is rehearsed to the gradients of a minibatch. Each of the two is held to its own norm first, so
 * that neither drowns the other: what the batch teaches is as long as without a rehearsal.
 *
 * With a bound it adds nothing. The batch alone decides as long as the policy is nearer to the base than that on
 * what is rehearsed; beyond it, the step does not move farther away to first order (`withoutConflict`).
 */
export function rehearseInto(
  engine: LearningEngine,
  adapter: TrainedWeights,
  batch: { readonly gradients: Gradients },
  { samples, lesson }: Rehearsal,
  settings: MinibatchOptions['settings'],
): Rehearsed {
  const { gradients, metrics } = minibatchGradients(engine, adapter, samples, {
    settings: { ...settings, method: 'opd', distillation: 'topk', hintWeight: 1, klCoefficient: 0 },
    ...{ lesson, prox: undefined, reference: undefined, onSamples: () => {} },
  });
  const rehearsalKl = metrics.distillationLoss ?? 0;
  const { gradientClip, rehearsalBound, rehearsalWeight } = settings;
  if (rehearsalBound === undefined) {
    shorten(batch.gradients, gradientClip);
    shorten(gradients, gradientClip);
    addScaled(batch.gradients, gradients, rehearsalWeight);
  } else if (rehearsalKl > rehearsalBound) withoutConflict(batch.gradients, gradients);
  return { rehearsalKl };
}

type Gradients = ReadonlyMap<string, Float32Array>;

/**
 * Takes out of a gradient, in place, what goes against another one: g - min(0, g.r) / r.r * r, after which g.r is not
 * negative (A-GEM: Chaudhry et al. 2019, arXiv 1812.00420, equation 11). A step along it leaves the other loss as it
 * is, to first order.
 */
export function withoutConflict(gradients: Gradients, rehearsed: Gradients): void {
  const along = dot(gradients, rehearsed);
  const square = dot(rehearsed, rehearsed);
  if (along < 0 && square > 0) addScaled(gradients, rehearsed, -along / square);
}

function dot(one: Gradients, other: Gradients): number {
  let sum = 0;
  for (const [name, values] of one) {
    const others = other.get(name);
    if (others !== undefined) for (let at = 0; at < values.length; at++) sum += values[at]! * others[at]!;
  }
  return sum;
}

function addScaled(gradients: Gradients, more: Gradients, scale: number): void {
  for (const [name, values] of gradients) {
    const added = more.get(name);
    if (added !== undefined) for (let at = 0; at < values.length; at++) values[at]! += scale * added[at]!;
  }
}

/** In place, to this norm at most. */
function shorten(gradients: Gradients, most: number): void {
  const norm = gradientNorm(gradients);
  if (norm <= most) return;
  for (const values of gradients.values())
    for (let at = 0; at < values.length; at++) values[at]! *= most / norm;
}
