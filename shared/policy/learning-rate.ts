export type LearningRateSchedule = {
  readonly learningRate: number;
  /** optimizer steps until the whole rate is reached; without: from the first one on */
  readonly warmUpSteps?: number | undefined;
};

/**
 * The rate of one optimizer step: it rises in equal parts to the whole, which the step number `warmUpSteps`
 * is the first to take. The first steps of Adam are as large as any, while its moments rest on next to
 * nothing
 * (Goyal et al. 2017, section 2.2; Ma and Yarats 2021).
 *
 * @param taken steps that the optimizer's state has seen, over all versions before
 */
export const learningRateAt = (
  { learningRate, warmUpSteps = 0 }: LearningRateSchedule,
  taken: number,
): number => (taken + 1 < warmUpSteps ? (learningRate * (taken + 1)) / warmUpSteps : learningRate);
