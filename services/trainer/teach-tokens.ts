import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { chooseHints, overlapOf } from '../../shared/policy/losses/opd-overlap.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import type { TokenDistributions } from '../../shared/policy/train/token-distributions.ts';
import type { StepSample } from './step-sample.ts';
import type { Teacher } from './teacher.ts';
import type { Awaitable, ReadPolicy, Trainee } from './trainee.ts';

/** A sample, with one prompt for each of its hints. */
export type Pupil = {
  readonly sample: StepSample;
  readonly prompts: readonly (readonly number[])[];
  /** weight of its lesson, 0 to 1; default 1 */
  readonly weight?: number;
  /** log-probs of the answer under the teacher without a hint, [T]; needed if the weight is below 1 */
  readonly plain?: ArrayLike<number>;
};

/** A teacher's log-probs of several tokens at each position of an answer, nats. */
export type TokenLesson = {
  /** of the answer's own tokens under the teacher, [T] */
  readonly sampled: Float32Array;
  /** compared tokens, [T * k]; `topk`: the teacher's most likely ones, `overlap`: the policy's */
  readonly ids: Int32Array;
  /** of `ids` under the teacher, [T * k] */
  readonly teacher: Float32Array;
  /** `topk`: of all other tokens together under the teacher, [T]; otherwise empty */
  readonly rest: Float32Array;
  /** `overlap`: of `ids` under the parent, [T * k]; otherwise empty */
  readonly old: Float32Array;
  /** `overlap`: share of the policy's tokens that are among the teacher's, mean over positions; otherwise 0 */
  readonly overlap: number;
  /** weight of its loss; default 1 */
  readonly weight?: number;
};

type TokenTeaching = {
  readonly teacher: Teacher;
  /** the weights before the step */
  readonly policy: ReadPolicy;
  readonly pupils: readonly Pupil[];
};

const none = new Float32Array(0);

/**
 * The lessons of `topk` and `overlap`. With `overlap`, the teacher reads each hint. The hint teaches under
 * which the teacher's most likely tokens overlap most with the policy's over the whole answer; of equals, the
 * first.
 */
export async function teachTokens(
  trainee: Pick<Trainee, 'parts' | 'distributions'>,
  { teacher, policy, pupils }: TokenTeaching,
  { distillation, topK }: Pick<TrainingSettings, 'distillation' | 'topK'>,
  onSamples: (done: number, of: number) => void,
): Promise<ReadonlyMap<StepSample, TokenLesson>> {
  const policyViews =
    distillation === 'overlap'
      ? await inParts(
          trainee,
          pupils.map(({ sample }) => sample.sequence),
          (sequences) => trainee.distributions(policy, sequences, { count: topK }),
        )
      : undefined;
  const read = pupils.flatMap(({ sample, prompts }, pupil) =>
    prompts.map((promptIds) => ({ pupil, sequence: { ...sample.sequence, promptIds } })),
  );
  const teacherViews = await inParts(
    trainee,
    read.map(({ sequence }) => sequence),
    (sequences, members) => {
      const requested = policyViews && members.map((index) => policyViews[read[index]!.pupil]!.topIds);
      return teacher.distributions(sequences, { count: topK, requested });
    },
    (done) => onSamples(done, read.length),
  );
  return new Map(
    pupils.map(({ sample, weight = 1 }, pupil) => {
      const views = teacherViews.filter((_, index) => read[index]!.pupil === pupil);
      const lesson =
        policyViews === undefined ? topkLesson(views[0]!) : overlapLesson(policyViews[pupil]!, views, topK);
      return [sample, { ...lesson, weight }];
    }),
  );
}

const topkLesson = ({ sampled, topIds, top, rest }: TokenDistributions): TokenLesson => ({
  sampled,
  ids: topIds,
  teacher: top,
  rest,
  old: none,
  overlap: 0,
});

/** @param views the teacher's distributions, one per hint */
function overlapLesson(
  own: TokenDistributions,
  views: readonly TokenDistributions[],
  topK: number,
): TokenLesson {
  const positions = Array.from(own.sampled, (_, t) => t);
  const at = (ids: Int32Array, t: number) => [...ids.subarray(t * topK, (t + 1) * topK)];
  const overlaps = views.map(({ topIds }) =>
    positions.map((t) => overlapOf(at(own.topIds, t), at(topIds, t))),
  );
  // One hint is chosen for the whole answer.
  const chosen = chooseHints(overlaps, new Float64Array(positions.length).fill(1), 'sequence')[0]!;
  const { sampled, requested } = views[chosen]!;
  const shared = overlaps[chosen]!.reduce((sum, count) => sum + count, 0);
  return {
    sampled,
    ids: own.topIds,
    teacher: requested,
    rest: none,
    old: own.top,
    overlap: shared / (topK * positions.length),
  };
}

/** Processes sequences part by part and returns results in their order. */
async function inParts<Answer>(
  trainee: Pick<Trainee, 'parts'>,
  sequences: readonly PolicySequence[],
  ask: (part: readonly PolicySequence[], members: readonly number[]) => Awaitable<readonly Answer[]>,
  onDone: (done: number) => void = () => {},
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  let done = 0;
  for (const members of trainee.parts(sequences)) {
    const part = await ask(
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
