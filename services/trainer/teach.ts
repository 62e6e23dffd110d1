import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { teacherGap } from '../../shared/policy/losses/opd.ts';
import { hintedPrompt, type NoTeacher } from './hinted-prompt.ts';
import type { LearningEngine, LogProbs } from './learning-engine.ts';
import type { StepSample } from './step-sample.ts';

type BySample = ReadonlyMap<StepSample, ArrayLike<number>>;

export type Lesson = {
  /** log-probs of the answer under the teacher, which has read the hint, [T]; absent: it has none */
  readonly teacher: BySample;
  /** why the others have none, as counts */
  readonly without: Readonly<Record<NoTeacher, number>>;
};

export const noLesson: Lesson = {
  teacher: new Map(),
  without: { 'no-hint': 0, 'template-drift': 0, 'no-request': 0, 'too-long': 0 },
};

/**
 * What the teacher makes of each answer that a hint came for: log p of the answer's own tokens, after the
 * hinted prompt, at the temperature of the record. The engine holds no more at a time than one of its parts.
 *
 * @param parent adapter of the parent version; undefined: the base
 */
export function teach(
  engine: LearningEngine,
  { teacher }: Pick<TrainingSettings, 'teacher'>,
  parent: TrainedWeights | undefined,
  samples: readonly (readonly [StepSample, SampleReady['data']])[],
  onSamples: (done: number, of: number) => void,
): Lesson {
  const without = { ...noLesson.without };
  const hinted: (readonly [StepSample, PolicySequence])[] = [];
  for (const [sample, record] of samples) {
    const prompt = hintedPrompt(record, engine);
    if (prompt.kind === 'hinted') hinted.push([sample, { ...sample.sequence, promptIds: prompt.promptIds }]);
    else without[prompt.kind] += 1;
  }
  const logProbs = new Map<StepSample, ArrayLike<number>>();
  for (const members of engine.parts(hinted.map(([, sequence]) => sequence))) {
    const part = members.map((index) => hinted[index]!);
    const scored = scoreBy(
      engine,
      teacher,
      parent,
      part.map(([, sequence]) => sequence),
    );
    part.forEach(([sample], index) => {
      logProbs.set(sample, scored[index]!);
    });
    onSamples(logProbs.size, hinted.length);
  }
  return { teacher: logProbs, without };
}

function scoreBy(
  engine: LearningEngine,
  teacher: string,
  parent: TrainedWeights | undefined,
  sequences: readonly PolicySequence[],
): LogProbs {
  switch (teacher) {
    case 'current':
      return engine.score(parent, sequences);
    case 'base':
      return engine.score(undefined, sequences);
    default:
      return engine.scoreByTeacher(teacher, sequences);
  }
}

/**
 * docs/learning.md says what each figure means.
 *
 * @param prox log-probs under the parent, [T]
 */
export function lessonMetrics(
  { teacher, without }: Lesson,
  prox: BySample,
  { gapClip }: Pick<TrainingSettings, 'gapClip'>,
): Readonly<Record<string, number>> {
  const counts = {
    hintsUsed: teacher.size,
    templateDrift: without['template-drift'],
    hintsNotUsed: without['no-request'] + without['too-long'],
  };
  const known = [...teacher].filter(([sample]) => prox.has(sample));
  const gaps = known.flatMap(([sample, row]) =>
    Array.from(row, (logProb, t) => logProb - prox.get(sample)![t]!),
  );
  if (gaps.length === 0) return counts;
  const clipped = teacherGap([gaps], [gaps.map(() => 0)], { gapClip })[0]!;
  return {
    ...counts,
    teacherKl: -mean(gaps),
    teacherGap: mean(Array.from(clipped, Math.abs)),
    teacherGapClipped: mean(gaps.map((gap) => Number(Math.abs(gap) > gapClip))),
  };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
