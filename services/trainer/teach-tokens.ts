import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { chooseHints, overlapOf } from '../../shared/policy/losses/opd-overlap.ts';
import type { TokenDistributions } from '../../shared/policy/token-distributions.ts';
import type { LearningEngine } from './learning-engine.ts';
import type { StepSample } from './step-sample.ts';
import type { Teacher } from './teacher.ts';

/** A sample, and its prompt with each of its hints. */
export type Pupil = {
  readonly sample: StepSample;
  readonly prompts: readonly (readonly number[])[];
  /** of its lesson, 0 to 1; 1 unless told */
  readonly weight?: number;
  /** log-probs of the answer under the teacher without a hint, [T]; where the weight is below 1 */
  readonly plain?: ArrayLike<number>;
};

/** What a teacher says of several tokens at each position of an answer; log-probs, nats. */
export type TokenLesson = {
  /** of the answer's own tokens under the teacher, [T] */
  readonly sampled: Float32Array;
  /** the tokens that are compared: `topk`: the teacher's likeliest, `overlap`: the policy's own, [T * k] */
  readonly ids: Int32Array;
  /** of those under the teacher, [T * k] */
  readonly teacher: Float32Array;
  /** `topk`: of all others together under the teacher, [T]; else empty */
  readonly rest: Float32Array;
  /** `overlap`: of `ids` under the parent, [T * k]; else empty */
  readonly old: Float32Array;
  /** `overlap`: share of the policy's tokens that are among the teacher's, mean over positions; else 0 */
  readonly overlap: number;
  /** of its loss; 1 unless told */
  readonly weight?: number;
};

const none = new Float32Array(0);

/**
 * The lessons of `topk` and `overlap`. With `overlap` each hint is read, and that one teaches under which the
 * teacher's likeliest tokens overlap most with the policy's own over the whole answer; ties: the first.
 */
export function teachTokens(
  engine: LearningEngine,
  teacher: Teacher,
  parent: TrainedWeights | undefined,
  { distillation, topK }: Pick<TrainingSettings, 'distillation' | 'topK'>,
  pupils: readonly Pupil[],
  onSamples: (done: number, of: number) => void,
): ReadonlyMap<StepSample, TokenLesson> {
  const own =
    distillation === 'overlap'
      ? inParts(
          engine,
          pupils.map(({ sample }) => sample.sequence),
          (sequences) => engine.distributions(parent, sequences, { count: topK }),
        )
      : undefined;
  const read = pupils.flatMap(({ sample, prompts }, pupil) =>
    prompts.map((promptIds) => ({ pupil, sequence: { ...sample.sequence, promptIds } })),
  );
  const told = inParts(
    engine,
    read.map(({ sequence }) => sequence),
    (sequences, members) => {
      const asked = own && members.map((index) => own[read[index]!.pupil]!.topIds);
      return teacher.distributions(sequences, { count: topK, asked });
    },
    (done) => onSamples(done, read.length),
  );
  return new Map(
    pupils.map(({ sample, weight = 1 }, pupil) => {
      const views = told.filter((_, index) => read[index]!.pupil === pupil);
      const lesson = own === undefined ? topkLesson(views[0]!) : overlapLesson(own[pupil]!, views, topK);
      return [sample, { ...lesson, weight }];
    }),
  );
}

const topkLesson = ({ sampled, topIds, top, rest }: TokenDistributions): TokenLesson => ({
  ...{ sampled, ids: topIds, teacher: top, rest },
  ...{ old: none, overlap: 0 },
});

/** @param views the teacher's, one per hint */
export function overlapLesson(
  own: TokenDistributions,
  views: readonly TokenDistributions[],
  topK: number,
): TokenLesson {
  const positions = Array.from(own.sampled, (_, t) => t);
  const at = (ids: Int32Array, t: number) => [...ids.subarray(t * topK, (t + 1) * topK)];
  const overlaps = views.map(({ topIds }) =>
    positions.map((t) => overlapOf(at(own.topIds, t), at(topIds, t))),
  );
  // one hint for the whole answer: the same for every token
  const chosen = chooseHints(overlaps, new Float64Array(positions.length).fill(1), 'sequence')[0]!;
  const { sampled, asked } = views[chosen]!;
  const shared = overlaps[chosen]!.reduce((sum, count) => sum + count, 0);
  return {
    ...{ sampled, ids: own.topIds, teacher: asked, rest: none, old: own.top },
    overlap: shared / (topK * positions.length),
  };
}

/** Asks for sequences part by part; answers in the order of the sequences. */
function inParts<Answer>(
  engine: LearningEngine,
  sequences: readonly PolicySequence[],
  ask: (part: readonly PolicySequence[], members: readonly number[]) => readonly Answer[],
  onDone: (done: number) => void = () => {},
): readonly Answer[] {
  const answers: Answer[] = [];
  let done = 0;
  for (const members of engine.parts(sequences)) {
    const part = ask(
      members.map((index) => sequences[index]!),
      members,
    );
    part.forEach((answer, member) => {
      answers[members[member]!] = answer;
    });
    done += members.length;
    onDone(done);
  }
  return answers;
}
