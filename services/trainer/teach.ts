import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { hintedPrompts, type NoTeacher } from './hinted-prompt.ts';
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
  /** why the others have none, as counts */
  readonly without: Readonly<Record<NoTeacher, number>>;
};

export const noLesson: Lesson = {
  teacher: new Map(),
  tokens: new Map(),
  hintsRead: 0,
  without: { 'no-hint': 0, 'template-drift': 0, 'no-request': 0, 'too-long': 0 },
};

/** `overlap` compares so many hints of a sample: each is another pass of the teacher. */
const MOST_HINTS = 3;

/**
 * What the teacher makes of each answer that a hint came for: log p of the answer's own tokens, or of several
 * per position, after the hinted prompt, at the temperature of the record. The engine holds no more at a time
 * than one of its parts.
 *
 * @param parent what the parent version has learned; undefined: it is the base
 */
export function teach(
  engine: LearningEngine,
  settings: Pick<TrainingSettings, 'teacher' | 'teacherAnchor' | 'distillation' | 'topK'>,
  parent: TrainedWeights | undefined,
  samples: readonly (readonly [StepSample, SampleReady['data']])[],
  onSamples: (done: number, of: number) => void,
): Lesson {
  const { pupils, without } = choosePupils(engine, settings, samples);
  const told = { hintsRead: pupils.reduce((sum, { prompts }) => sum + prompts.length, 0), without };
  const teacher = teacherOf(engine, settings.teacher, settings.teacherAnchor, parent);
  if (settings.distillation === 'sampled')
    return { ...told, teacher: teachSampled(engine, teacher, pupils, onSamples), tokens: new Map() };
  const tokens = teachTokens(engine, teacher, parent, settings, pupils, onSamples);
  return { ...told, tokens, teacher: new Map([...tokens].map(([sample, { sampled }]) => [sample, sampled])) };
}

/** Samples whose hints are read, and why the others are not among them. */
function choosePupils(
  engine: LearningEngine,
  { distillation }: Pick<TrainingSettings, 'distillation'>,
  samples: readonly (readonly [StepSample, SampleReady['data']])[],
): { readonly pupils: readonly Pupil[]; readonly without: Lesson['without'] } {
  const without = { ...noLesson.without };
  const pupils: Pupil[] = [];
  for (const [sample, record] of samples) {
    const hinted = hintedPrompts(record, engine, distillation === 'overlap' ? MOST_HINTS : 1);
    if (hinted.kind !== 'hinted') without[hinted.kind] += 1;
    else if (sample.behavior.length > 0) pupils.push({ sample, prompts: hinted.prompts });
  }
  return { pupils, without };
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
      logProbs.set(pupils[index]!.sample, scored[member]!);
    });
    onSamples(logProbs.size, pupils.length);
  }
  return logProbs;
}
