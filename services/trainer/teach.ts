import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { type Chosen, choosePupils, noneDistrusted, noneWithout } from './choose-pupils.ts';
import type { StepSample } from './step-sample.ts';
import { type Pupil, type TokenLesson, teachTokens } from './teach-tokens.ts';
import { type Teacher, teacherOf } from './teacher.ts';
import type { Trainee } from './trainee.ts';

export type Lesson = {
  /** log-probs of the answer's own tokens under the teacher, which has read the hint, [T] */
  readonly teacher: ReadonlyMap<StepSample, ArrayLike<number>>;
  /** `topk`, `overlap`: several tokens per position, for the same samples; otherwise empty */
  readonly tokens: ReadonlyMap<StepSample, TokenLesson>;
  /** number of prompts with a hint that the teacher read */
  readonly hintsRead: number;
} & Pick<Chosen, 'without' | 'distrusted'>;

type Teaching = {
  /** whether there is a parent version; otherwise the policy is the base */
  readonly hasParent: boolean;
  readonly samples: readonly (readonly [StepSample, SampleReady['data']])[];
};

export const noLesson: Lesson = {
  teacher: new Map(),
  tokens: new Map(),
  hintsRead: 0,
  without: noneWithout,
  distrusted: noneDistrusted,
};

/**
 * The teacher's view of each answer with a hint: log p of the answer's own tokens, or of several per position,
 * after the hinted prompt, at the recorded temperature. One part is processed at a time.
 */
export async function teach(
  trainee: Trainee,
  settings: Pick<
    TrainingSettings,
    'rules' | 'teacher' | 'teacherAnchor' | 'distillation' | 'topK' | 'hintCheck' | 'ownWordsWeight'
  >,
  { hasParent, samples }: Teaching,
  onSamples: (done: number, of: number) => void,
): Promise<Lesson> {
  const teacher = teacherOf(trainee, settings.teacher, settings.teacherAnchor, hasParent);
  const { pupils, without, distrusted } = await choosePupils(trainee, settings, teacher, samples);
  const hintsRead = pupils.reduce((sum, { prompts }) => sum + prompts.length, 0);
  const counts = { hintsRead, without, distrusted };
  if (settings.distillation === 'sampled')
    return { ...counts, teacher: await teachSampled(trainee, teacher, pupils, onSamples), tokens: new Map() };
  const policy = hasParent ? 'start' : 'base';
  const tokens = await teachTokens(trainee, { teacher, policy, pupils }, settings, onSamples);
  return {
    ...counts,
    tokens,
    teacher: new Map([...tokens].map(([sample, { sampled }]) => [sample, sampled])),
  };
}

async function teachSampled(
  trainee: Trainee,
  teacher: Teacher,
  pupils: readonly Pupil[],
  onSamples: (done: number, of: number) => void,
): Promise<Lesson['teacher']> {
  const logProbs = new Map<StepSample, ArrayLike<number>>();
  const sequences = pupils.map(
    ({ sample, prompts }): PolicySequence => ({ ...sample.sequence, promptIds: prompts[0]! }),
  );
  for (const members of trainee.parts(sequences)) {
    const scored = await teacher.score(members.map((index) => sequences[index]!));
    members.forEach((index, member) => {
      const { sample, plain, weight = 1 } = pupils[index]!;
      logProbs.set(sample, plain === undefined ? scored[member]! : between(plain, scored[member]!, weight));
    });
    onSamples(logProbs.size, pupils.length);
  }
  return logProbs;
}

/** Interpolates between two rows of log-probs. */
const between = (from: ArrayLike<number>, to: ArrayLike<number>, part: number): ArrayLike<number> =>
  Float32Array.from(from, (logProb, t) => logProb + part * (to[t]! - logProb));
