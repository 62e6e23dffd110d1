type LearningRateSchedule = {
  readonly learningRate: number;
  /** optimizer steps until the full rate is reached; default: the first step has it */
  readonly warmUpSteps?: number | undefined;
};

/**
 * The rate of one optimizer step: it rises linearly, and reaches the full rate at step number `warmUpSteps`. Without
 * a warm-up, Adam's first steps are as large as later steps, although its moments have hardly any data (Goyal et al.
 * 2017, section 2.2; Ma and Yarats 2021).
 *
 * @param taken steps of the optimizer so far, over all earlier versions
 */
export const learningRateAt = (
  { learningRate, warmUpSteps = 0 }: LearningRateSchedule,
  taken: number,
): number => (taken + 1 < warmUpSteps ? (learningRate * (taken + 1)) / warmUpSteps : learningRate);
