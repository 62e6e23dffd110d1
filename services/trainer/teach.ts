import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { type Chosen, choosePupils, nobodyWithout, nothingDistrusted } from './choose-pupils.ts';
import type { LearningEngine } from './learning-engine.ts';
import type { StepSample } from './step-sample.ts';
import { type Pupil, type TokenLesson, teachTokens } from './teach-tokens.ts';
import { type Teacher, teacherOf } from './teacher.ts';

export type Lesson = {
  /**
   * log-probs of the answer's own tokens under the teacher, which has read the hint, [T]; absent: it has none
   */
  readonly teacher: ReadonlyMap<StepSample, ArrayLike<number>>;
  /** `topk`, `overlap`: several tokens of each position, for the same samples; else empty */
  readonly tokens: ReadonlyMap<StepSample, TokenLesson>;
  /** prompts with a hint that a teacher read */
  readonly hintsRead: number;
} & Pick<Chosen, 'without' | 'distrusted'>;

export const noLesson: Lesson = {
  teacher: new Map(),
  tokens: new Map(),
  hintsRead: 0,
  without: nobodyWithout,
  distrusted: nothingDistrusted,
};

/**
 * What the teacher makes of each answer that a hint came for: log p of the answer's own tokens, or of several
 * per position, after the hinted prompt, at the temperature of the record. The engine holds no more at a time
 * than one of its parts.
 *
 * @param parent what the parent version has learned; undefined: it is the base
 */
export function teach(
  engine: LearningEngine,
  settings: Pick<
    TrainingSettings,
    'rules' | 'teacher' | 'teacherAnchor' | 'distillation' | 'topK' | 'hintCheck' | 'ownWordsWeight'
  >,
  parent: TrainedWeights | undefined,
  samples: readonly (readonly [StepSample, SampleReady['data']])[],
  onSamples: (done: number, of: number) => void,
): Lesson {
  const teacher = teacherOf(engine, settings.teacher, settings.teacherAnchor, parent);
  const { pupils, without, distrusted } = choosePupils(engine, settings, teacher, samples);
  const hintsRead = pupils.reduce((sum, { prompts }) => sum + prompts.length, 0);
  const told = { hintsRead, without, distrusted };
  if (settings.distillation === 'sampled')
    return { ...told, teacher: teachSampled(engine, teacher, pupils, onSamples), tokens: new Map() };
  const tokens = teachTokens(engine, teacher, parent, settings, pupils, onSamples);
  return { ...told, tokens, teacher: new Map([...tokens].map(([sample, { sampled }]) => [sample, sampled])) };
}

function teachSampled(
  engine: LearningEngine,
  teacher: Teacher,
  pupils: readonly Pupil[],
  onSamples: (done: number, of: number) => void,
): Lesson['teacher'] {
  const logProbs = new Map<StepSample, ArrayLike<number>>();
  const sequences = pupils.map(
    ({ sample, prompts }): PolicySequence => ({ ...sample.sequence, promptIds: prompts[0]! }),
  );
  for (const members of engine.parts(sequences)) {
    const scored = teacher.score(members.map((index) => sequences[index]!));
    members.forEach((index, member) => {
      const { sample, plain, weight = 1 } = pupils[index]!;
      logProbs.set(sample, plain === undefined ? scored[member]! : between(plain, scored[member]!, weight));
    });
    onSamples(logProbs.size, pupils.length);
  }
  return logProbs;
}

/** From one row of log-probs a part of the way to another. */
const between = (from: ArrayLike<number>, to: ArrayLike<number>, part: number): ArrayLike<number> =>
  Float32Array.from(from, (logProb, t) => logProb + part * (to[t]! - logProb));
