import type { PerToken } from './reduction.ts';

export type GapSettings = {
  /** the teacher's gap is clipped to +-gapClip, nats, so that a single extreme token does not dominate a step */
  readonly gapClip: number;
};

/**
 * How much more likely each sampled token is under the teacher than under the policy: clip(teacher - prox,
 * +-gapClip).
 *
 * @returns nats, [N][T]
 */
export const teacherGap = (teacher: PerToken, prox: PerToken, { gapClip }: GapSettings): Float64Array[] =>
  teacher.map((row, sequence) =>
    Float64Array.from(row, (logProb, index) =>
      Math.min(Math.max(logProb - prox[sequence]![index]!, -gapClip), gapClip),
    ),
  );
