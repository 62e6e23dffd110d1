import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { gradientNorm } from '../../shared/policy/train/adamw.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import { canAnswer } from './answer-figures.ts';
import type { LearningEngine } from './learning-engine.ts';
import { type MinibatchOptions, minibatchGradients } from './minibatch-gradients.ts';
import { requestPrompt } from './own-requests.ts';
import type { StepSample } from './step-sample.ts';
import type { Lesson } from './teach.ts';
import type { TokenLesson } from './teach-tokens.ts';
import type { ModelHere, Trainee } from './trainee.ts';

/**
 * The base's answers to requests that state a wish, as a lesson, so that habits do not override stated wishes.
 */
type Rehearsal = {
  readonly samples: readonly StepSample[];
  readonly lesson: Pick<Lesson, 'teacher' | 'tokens'>;
};

/** Tokens per rehearsed answer; a wish about its form shows early. */
const TOKENS = 64;
/** Wishes that most models can meet. */
const rehearsedWishes: readonly WishKind[] = [
  ...(['list', 'no-list', 'steps', 'greeting', 'no-greeting', 'closing', 'one-sentence', 'longer'] as const),
];

/**
 * Samples the base's answers, with their token distributions, to a few of the model's rehearsal requests, each
 * with a wish at its end. The seed selects requests and wishes.
 *
 * @returns undefined: there is nothing to rehearse, or the engine cannot answer
 */
export function rehearse(
  engine: LearningEngine,
  { rehearsal: count, topK }: Pick<TrainingSettings, 'rehearsal' | 'topK'>,
  seed: number,
): Rehearsal | undefined {
  const { speech } = engine;
  if (count === 0 || speech === undefined || !canAnswer(engine, speech.rehearsed)) return undefined;
  const random = createRandom(`rehearsal/${seed}`);
  const choose = <Item>(from: readonly Item[]): Item => from[Math.floor(random() * from.length)]!;
  const prompts = Array.from({ length: count }, () => {
    const content = `${choose(speech.rehearsed)} ${wishes[choose(rehearsedWishes)].hint}`;
    return requestPrompt(engine, [{ role: 'user', content }]);
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
  const distributions = engine.distributions(undefined, sequences, { count: topK });
  const lessons = distributions.map(
    ({ sampled, topIds: ids, top: teacher, rest }): TokenLesson => ({
      sampled,
      ids,
      teacher,
      rest,
      old: none,
      overlap: 0,
    }),
  );
  const samples = sequences.map(
    (sequence, index): StepSample => ({
      sampleId: `rehearsal/${index}`,
      version: 0,
      verdict: 0,
      advantage: 0,
      trainsByVerdict: false,
      verdictWeight: 0,
      weight: 1,
      greedy: false,
      soft: false,
      sequence,
      behavior: lessons[index]!.sampled,
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

/** KL of the policy to the base on the rehearsal, over topK tokens and the rest, nats */
export type Rehearsed = { readonly rehearsalKl: number };

/**
 * Whether the policy was seen within the bound. A step is too short to go far beyond it, so rehearsal stops
 * there.
 */
export const isWithin = (
  rehearsed: readonly Rehearsed[],
  { rehearsalBound }: Pick<TrainingSettings, 'rehearsalBound'>,
): boolean =>
  rehearsalBound !== undefined && rehearsed.some(({ rehearsalKl }) => rehearsalKl <= rehearsalBound);

/**
 * Adds the rehearsal's gradients to those of a minibatch, which the trainee holds. Each of the two is clipped to its own norm first, so
 * that neither dominates: the batch's part is as long as without a rehearsal.
 *
 * With a bound, nothing is added. While the policy's KL to the base on the rehearsal is within the bound, only
 * the batch decides. Beyond it, the step does not move farther away, to first order (`withoutConflict`).
 */
export async function rehearseInto(
  trainee: Pick<Trainee, 'parts' | 'backward'> & { readonly here: ModelHere },
  {
    rehearsal: { samples, lesson },
    settings,
  }: { readonly rehearsal: Rehearsal; readonly settings: MinibatchOptions['settings'] },
): Promise<Rehearsed> {
  const { exchangeGradients } = trainee.here;
  const batch = exchangeGradients(new Map());
  const { metrics } = await minibatchGradients(trainee, samples, {
    settings: {
      ...settings,
      method: 'opd',
      distillation: 'topk',
      forwardKl: 0,
      hintWeight: 1,
      klCoefficient: 0,
    },
    lesson,
    prox: undefined,
    reference: undefined,
    onSamples: () => {},
  });
  const gradients = exchangeGradients(batch);
  const rehearsalKl = metrics.distillationLoss ?? 0;
  const { gradientClip, rehearsalBound, rehearsalWeight } = settings;
  if (rehearsalBound === undefined) {
    shorten(batch, gradientClip);
    shorten(gradients, gradientClip);
    addScaled(batch, gradients, rehearsalWeight);
  } else if (rehearsalKl > rehearsalBound) withoutConflict(batch, gradients);
  return { rehearsalKl };
}

/**
 * Removes from a gradient, in place, the part that conflicts with another one: g - min(0, g.r) / r.r * r, after
 * which g.r is not negative (A-GEM: Chaudhry et al. 2019, arXiv 1812.00420, equation 11). To first order, a
 * step along the result does not increase the other loss.
 */
export function withoutConflict(gradients: ReadonlyGradients, rehearsed: ReadonlyGradients): void {
  const along = dot(gradients, rehearsed);
  const square = dot(rehearsed, rehearsed);
  if (along < 0 && square > 0) addScaled(gradients, rehearsed, -along / square);
}

type ReadonlyGradients = ReadonlyMap<string, Float32Array>;

function dot(one: ReadonlyGradients, other: ReadonlyGradients): number {
  let sum = 0;
  for (const [name, values] of one) {
    const others = other.get(name);
    if (others !== undefined) for (let at = 0; at < values.length; at++) sum += values[at]! * others[at]!;
  }
  return sum;
}

function addScaled(gradients: ReadonlyGradients, more: ReadonlyGradients, scale: number): void {
  for (const [name, values] of gradients) {
    const added = more.get(name);
    if (added !== undefined) for (let at = 0; at < values.length; at++) values[at]! += scale * added[at]!;
  }
}

/** Clips to a norm, in place. */
function shorten(gradients: ReadonlyGradients, most: number): void {
  const norm = gradientNorm(gradients);
  if (norm <= most) return;
  for (const values of gradients.values())
    for (let at = 0; at < values.length; at++) values[at]! *= most / norm;
}
