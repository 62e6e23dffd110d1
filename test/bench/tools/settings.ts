/**
 * Flags of `clawloop up` with which claw-nano learns to route. Larger batches compare several questions. The gate's
 * bounds are made for changes of style; a new skill moves the first token of every answer, and needs wider ones.
 */
export const routingFlags: readonly string[] = [
  '--collector-batch-size',
  '16',
  '--collector-gate-mean-kl',
  '0.3',
  '--collector-gate-base-kl',
  '1',
];

/**
 * For calls: an attempt has two answers, so a batch of 64 compares the attempts at four questions. With batches of 16,
 * one question each, or at the default rate of 0.1, the share goes up and down by 20 points from version to version.
 */
export const callsFlags: readonly string[] = [
  '--model',
  'claw-nano-tools',
  '--collector-batch-size',
  '64',
  '--collector-learning-rate',
  '0.05',
  '--collector-gate-mean-kl',
  '0.3',
  '--collector-gate-base-kl',
  '1',
];
